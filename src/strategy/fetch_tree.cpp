// An output holds a part of the sum until the result comes, which depends on all who have read that
// part. A rank may leave when its children have fetched the result from it.
#include "strategy/fetch_tree.hpp"

#include <algorithm>

namespace rondo {
namespace {

std::uint32_t measure(const Tree& tree, std::uint32_t rank, std::vector<std::uint32_t>& heights) {
    for (const std::uint32_t child : tree.folds[rank]) {
        if (child == rank) continue;
        heights[rank] = std::max(heights[rank], 1 + measure(tree, child, heights));
    }
    return heights[rank];
}

class FetchingMoves {
public:
    FetchingMoves(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit,
                  const FetchLanes& lanes)
        : builder_(builder), tree_(tree), unit_(unit), lanes_(lanes), heights_(heights_in(tree)) {}

    /// Folds what is below `rank`. The last step, which runs in the lane that is returned, is not
    /// added: the caller knows whom it signals.
    std::uint32_t add_folds(std::uint32_t rank, Step& last) {
        std::vector<std::uint32_t> children = children_of(rank);
        std::ranges::stable_sort(children, {}, [&](std::uint32_t it) { return heights_[it]; });
        std::uint32_t lane = 0;
        for (std::size_t i = 0; i < children.size(); ++i) {
            const std::uint32_t before = lane;
            lane = builder_.lane(rank, lanes_.folds[rank][i]);
            Step step{.unit = unit_, .sources = {i == 0 ? input_of(rank) : output_of(rank)}};
            if (i > 0) {
                last.signals.push_back(builder_.event(before, lane));
                builder_.add(before, std::move(last));
                step.waits.push_back(builder_.event(before, lane));
            }
            add_part(step, lane, children[i]);
            step.destinations.push_back(output_of(rank));
            last = std::move(step);
        }
        return lane;
    }

    /// The result goes from the output of `rank`, which `writer` completes, to all below.
    void add_fetches(std::uint32_t rank, std::uint32_t writer, Step last) {
        Step wait{.unit = unit_};
        const std::uint32_t waiting = builder_.lane(rank, lanes_.wait);
        for (const std::uint32_t child : children_of(rank)) {
            const std::uint32_t lane = builder_.lane(child, lanes_.fetch[child]);
            last.signals.push_back(builder_.event(writer, lane));
            wait.waits.push_back(builder_.event(lane, waiting));
            Step step{.unit = unit_,
                      .sources = {output_of(rank)},
                      .destinations = {output_of(child)},
                      .waits = {builder_.event(writer, lane)},
                      .signals = {builder_.event(lane, waiting)}};
            add_fetches(child, lane, std::move(step));
        }
        builder_.add(writer, std::move(last));
        if (!wait.waits.empty()) builder_.add(waiting, std::move(wait));
    }

private:
    std::vector<std::uint32_t> children_of(std::uint32_t rank) const {
        std::vector<std::uint32_t> children = tree_.folds[rank];
        std::erase(children, rank);
        return children;
    }

    void add_part(Step& step, std::uint32_t lane, std::uint32_t child) {
        if (heights_[child] == 0) {
            step.sources.push_back(input_of(child));
            return;
        }
        Step last;
        const std::uint32_t from = add_folds(child, last);
        last.signals.push_back(builder_.event(from, lane));
        builder_.add(from, std::move(last));
        step.sources.push_back(output_of(child));
        step.waits.push_back(builder_.event(from, lane));
    }

    ScheduleBuilder& builder_;
    const Tree& tree_;
    const std::uint32_t unit_;
    const FetchLanes& lanes_;
    const std::vector<std::uint32_t> heights_;
};

}  // namespace

std::vector<std::uint32_t> heights_in(const Tree& tree) {
    std::vector<std::uint32_t> heights(tree.folds.size());
    measure(tree, tree.root, heights);
    return heights;
}

void add_fetching(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit,
                  const FetchLanes& lanes) {
    FetchingMoves moves(builder, tree, unit, lanes);
    Step last;
    const std::uint32_t lane = moves.add_folds(tree.root, last);
    last.finishes = true;
    moves.add_fetches(tree.root, lane, std::move(last));
}

}  // namespace rondo
