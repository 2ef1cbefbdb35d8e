// What moves along trees. Parents write straight into the outputs of their children, whose inputs
// have long been folded by then; a rank without an output, or one whose memory its parent can't
// reach, gets what it passes on in a channel.
#include "strategy/tree.hpp"

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

/// NVLink or the like, with no part over PCI; also where nothing is known about the wiring.
bool is_fabric(std::uint32_t from, std::uint32_t to, const TreeLanes& lanes) {
    const Routing* routing = lanes.routing;
    if (routing == nullptr && lanes.machine != nullptr) routing = lanes.machine->routing();
    if (routing == nullptr) return true;
    const Path* const path = routing->path(from, to);
    return path != nullptr && path->kind <= simulation::PathKind::fabric;
}

class TreeMoves {
public:
    TreeMoves(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit, TreeLanes lanes,
              const std::vector<bool>& wanted)
        : builder_(builder),
          tree_(tree),
          unit_(unit),
          lanes_(lanes),
          wanted_(wanted),
          reached_(reached_by(tree, wanted)) {}

    /// Steps of all ranks below `rank` and its own; the result of the whole tree goes down.
    void add_up(std::uint32_t rank, std::uint32_t parent, std::uint32_t depth = 0) {
        Step step{.unit = unit_};
        const std::uint32_t lane = up_lane(rank);
        for (const std::uint32_t part : tree_.folds[rank]) {
            if (part == rank || is_pulled(part, rank)) {
                step.sources.push_back(input_of(part));
                if (part != rank && !reached_[part]) release(step, lane, part);
            } else {
                add_up(part, rank, depth + 1);
                step.sources.push_back(builder_.channel(up_lane(part), lane, level(depth + 1)));
            }
        }
        if (rank == tree_.root) {
            step.finishes = true;
            deliver(step, rank, lane, 0);
        } else {
            step.destinations.push_back(builder_.channel(lane, up_lane(parent), level(depth)));
        }
        builder_.add(lane, std::move(step));
    }

    void add_root_copy() {
        const std::uint32_t lane = down_lane(tree_.root);
        copies_input_ = true;
        Step step{.unit = unit_};
        for (const std::uint32_t child : tree_.folds[tree_.root]) {
            if (child == tree_.root || !reached_[child] || !fetches(child)) continue;
            add_fetch(child, lane);
            step.waits.push_back(builder_.event(down_lane(child), lane));
        }
        deliver(step, tree_.root, lane, 0);
        if (!step.destinations.empty()) step.sources.push_back(input_of(tree_.root));
        builder_.add(lane, std::move(step));
    }

    /// Steps of the ranks below `rank`, whose own step runs in `lane`.
    void add_down(std::uint32_t rank, std::uint32_t lane, std::uint32_t depth = 0) {
        for (const std::uint32_t child : tree_.folds[rank]) {
            if (child == rank || !reached_[child]) {
                continue;
            }
            const std::uint32_t child_lane = down_lane(child);
            Step step{.unit = unit_};
            if (rank == tree_.root && fetches(child)) {
                add_down(child, child_lane, depth + 1);
                continue;
            }
            if (is_written(child, rank)) {
                step.waits.push_back(builder_.event(lane, child_lane));
                forward(step, child, child_lane, depth + 1);
                if (!step.destinations.empty()) step.sources.push_back(output_of(child));
            } else {
                step.sources.push_back(builder_.channel(lane, child_lane, level(depth + 1)));
                deliver(step, child, child_lane, depth + 1);
            }
            builder_.add(child_lane, std::move(step));
            add_down(child, child_lane, depth + 1);
        }
    }

    std::uint32_t up_lane(std::uint32_t rank) {
        return builder_.lane(rank, lanes_.up_at.empty() ? lanes_.up : lanes_.up_at[rank]);
    }
    std::uint32_t down_lane(std::uint32_t rank) {
        return builder_.lane(rank, lanes_.down_at.empty() ? lanes_.down : lanes_.down_at[rank]);
    }

private:
    bool reaches(std::uint32_t from, std::uint32_t to) const {
        return lanes_.machine == nullptr || lanes_.machine->reaches(from, to);
    }

    bool is_pulled(std::uint32_t rank, std::uint32_t parent) const {
        return lanes_.pull_leaves && is_pulled_leaf(tree_, rank, parent, lanes_);
    }

    /// The leaf gets no result that would tell it that its input was read.
    void release(Step& step, std::uint32_t lane, std::uint32_t leaf) {
        const std::uint32_t waiting = down_lane(leaf);
        step.signals.push_back(builder_.event(lane, waiting));
        builder_.add(waiting, {.unit = unit_, .waits = {builder_.event(lane, waiting)}});
    }

    /// It reads the root's input and passes it on, in one step: the root need not send it.
    bool fetches(std::uint32_t child) const {
        return copies_input_ && lanes_.pull_leaves && tree_.folds[child].size() > 1 &&
               is_fabric(tree_.root, child, lanes_) && reaches(child, tree_.root);
    }

    /// In place the root's own copy would race with it, so the root waits, in `root_lane`.
    void add_fetch(std::uint32_t child, std::uint32_t root_lane) {
        const std::uint32_t lane = down_lane(child);
        Step step{.unit = unit_, .sources = {input_of(tree_.root)}};
        deliver(step, child, lane, 1);
        step.signals.push_back(builder_.event(lane, root_lane));
        builder_.add(lane, std::move(step));
    }

    /// Its parent writes into its output.
    bool is_written(std::uint32_t rank, std::uint32_t parent) const {
        return wanted_[rank] && reaches(parent, rank);
    }

    /// The number of the channel above a rank at this depth.
    std::uint32_t level(std::uint32_t depth) const { return lanes_.channel_per_level ? depth : 0; }

    void deliver(Step& step, std::uint32_t rank, std::uint32_t lane, std::uint32_t depth) {
        if (wanted_[rank]) {
            step.destinations.push_back(output_of(rank));
        }
        forward(step, rank, lane, depth);
    }

    void forward(Step& step, std::uint32_t rank, std::uint32_t lane, std::uint32_t depth) {
        for (const std::uint32_t child : tree_.folds[rank]) {
            if (child == rank || !reached_[child] || (rank == tree_.root && fetches(child))) {
                continue;
            }
            if (is_written(child, rank)) {
                step.destinations.push_back(output_of(child));
                step.signals.push_back(builder_.event(lane, down_lane(child)));
            } else {
                step.destinations.push_back(
                    builder_.channel(lane, down_lane(child), level(depth + 1)));
            }
        }
    }

    ScheduleBuilder& builder_;
    const Tree& tree_;
    const std::uint32_t unit_;
    const TreeLanes lanes_;
    const std::vector<bool>& wanted_;
    const std::vector<bool> reached_;
    bool copies_input_ = false;  ///< what goes down is the root's input
};

bool find_reached(const Tree& tree, std::uint32_t rank, std::vector<bool>& reached) {
    for (const std::uint32_t child : tree.folds[rank]) {
        if (child != rank && find_reached(tree, child, reached)) reached[rank] = true;
    }
    return reached[rank];
}

}  // namespace

bool is_pulled_leaf(const Tree& tree, std::uint32_t rank, std::uint32_t parent,
                    const TreeLanes& lanes) {
    return tree.folds[rank].size() == 1 && is_fabric(rank, parent, lanes) &&
           (lanes.machine == nullptr || lanes.machine->reaches(parent, rank));
}

std::vector<bool> reached_by(const Tree& tree, std::vector<bool> wanted) {
    find_reached(tree, tree.root, wanted);
    return wanted;
}

Tree make_heap_tree(const std::vector<std::uint32_t>& order, std::uint32_t arity) {
    Tree tree{.root = order.front(), .folds = {}};
    tree.folds.resize(*std::max_element(order.begin(), order.end()) + 1);
    for (std::size_t position = 0; position < order.size(); ++position) {
        auto& folds = tree.folds[order[position]];
        folds.push_back(order[position]);
        for (std::size_t i = 1; i <= arity; ++i) {
            const std::size_t child = arity * position + i;
            if (child >= order.size()) {
                break;
            }
            folds.push_back(order[child]);
        }
    }
    return tree;
}

Tree make_star(std::uint32_t ranks, std::uint32_t root) {
    Tree tree{.root = root, .folds = {}};
    tree.folds.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        tree.folds[rank] = {rank};
    }
    tree.folds[root].resize(ranks);
    std::iota(tree.folds[root].begin(), tree.folds[root].end(), 0u);
    return tree;
}

void add_reduction(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit, TreeLanes lanes,
                   const std::vector<bool>& wanted) {
    TreeMoves moves(builder, tree, unit, lanes, wanted);
    moves.add_up(tree.root, tree.root);
    moves.add_down(tree.root, moves.up_lane(tree.root));
}

void add_broadcast(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit, TreeLanes lanes,
                   const std::vector<bool>& wanted) {
    TreeMoves moves(builder, tree, unit, lanes, wanted);
    moves.add_root_copy();
    moves.add_down(tree.root, moves.down_lane(tree.root));
}

}  // namespace rondo
