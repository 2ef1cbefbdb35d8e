// Orders, halves and trees of a machine, each found when it is first asked for.
#include "strategy/machine_view.hpp"

#include <algorithm>
#include <numeric>

#include "strategy/even_trees.hpp"
#include "strategy/ring_order.hpp"
#include "topology/forest/exchange_bound.hpp"
#include "topology/forest/forest.hpp"

namespace rondo {
namespace {

std::optional<ForestCollective> forest_collective(Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
            return ForestCollective::all_reduce;
        case Collective::reduce:
            return ForestCollective::reduce;
        case Collective::broadcast:
            return ForestCollective::broadcast;
        case Collective::reduce_scatter:
            return ForestCollective::reduce_scatter;
        case Collective::all_gather:
            return ForestCollective::all_gather;
        default:
            return std::nullopt;
    }
}

bool has_one_root(Collective collective) {
    return has_root(collective);
}

WeightedTree tree_of_ranks(const ForestTree& tree, const std::vector<int>& gpus) {
    const auto rank_of = [&](int gpu) {
        return static_cast<std::uint32_t>(std::ranges::find(gpus, gpu) - gpus.begin());
    };
    WeightedTree result{std::vector<std::uint32_t>(gpus.size()), tree.weight.convert_to<double>()};
    result.parents[rank_of(tree.root)] = rank_of(tree.root);
    for (const ForestEdge& edge : tree.edges) {
        result.parents[rank_of(edge.child)] = rank_of(edge.parent);
    }
    return result;
}

/// As good as any where all are joined by one switch.
std::vector<WeightedTree> stars(std::uint32_t ranks, Collective collective, std::uint32_t root) {
    std::vector<WeightedTree> trees;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (has_one_root(collective) && rank != root) continue;
        trees.push_back({std::vector<std::uint32_t>(ranks, rank), 1});
    }
    return trees;
}

}  // namespace

MachineView::MachineView(std::uint32_t ranks) : ranks_(ranks) {
    order_.emplace(ranks);
    std::iota(order_->begin(), order_->end(), 0u);
    halves_.emplace(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) (*halves_)[rank] = rank < ranks / 2 ? 0 : 1;
}

MachineView::MachineView(const Topology& topology, const RoutingOptions& options)
    : ranks_(0), routing_(std::make_shared<const Routing>(topology, options)) {
    ranks_ = routing_->ranks();
    for (std::uint32_t from = 0; from < ranks_; ++from) {
        for (std::uint32_t to = 0; to < ranks_; ++to) {
            if (!topology.peer_access(device(from), device(to))) set_reach(from, to, false);
        }
    }
}

int MachineView::device(std::uint32_t rank) const {
    return routing_ == nullptr ? static_cast<int>(rank) : routing_->gpus()[rank];
}

bool MachineView::reaches(std::uint32_t from, std::uint32_t to) const {
    return reach_.empty() || reach_[from * ranks_ + to];
}

void MachineView::set_reach(std::uint32_t from, std::uint32_t to, bool reaches) {
    if (reach_.empty()) reach_.assign(std::size_t{ranks_} * ranks_, true);
    reach_[from * ranks_ + to] = reaches;
    all_reach_all_ = std::ranges::all_of(reach_, [](bool it) { return it; });
}

void MachineView::set_trees(std::vector<WeightedTree> trees) {
    given_trees_ = TreePacking{.trees = std::move(trees)};
}

const std::vector<std::uint32_t>& MachineView::ring_order() const {
    std::unique_lock lock(mutex_);
    if (!order_) {
        lock.unlock();
        std::vector<std::uint32_t> found = find_ring_order(HopWidths(*routing_));
        lock.lock();
        if (!order_) order_ = std::move(found);
    }
    return *order_;
}

std::vector<std::uint32_t> MachineView::ring_order_from(std::uint32_t first) const {
    std::vector<std::uint32_t> order = ring_order();
    std::rotate(order.begin(), std::find(order.begin(), order.end(), first), order.end());
    return order;
}

const std::vector<std::uint32_t>& MachineView::halves() const {
    std::unique_lock lock(mutex_);
    if (!halves_) {
        lock.unlock();
        std::vector<std::uint32_t> found = find_halves(HopWidths(*routing_));
        lock.lock();
        if (!halves_) halves_ = std::move(found);
    }
    return *halves_;
}

template <class Value, class Find>
const Value& MachineView::find_once(ByRoot<Value>& all, Collective collective, std::uint32_t root,
                                    Find find) const {
    std::unique_lock lock(mutex_);
    auto& known = all[{collective, has_one_root(collective) ? root : 0}];
    if (known == nullptr) {
        lock.unlock();
        auto found = std::make_unique<const Value>(find());
        lock.lock();
        if (known == nullptr) known = std::move(found);
    }
    return *known;
}

const TreePacking& MachineView::trees(Collective collective, std::uint32_t root) const {
    if (given_trees_) return *given_trees_;
    return find_once(trees_, collective, root, [&] { return find_trees(collective, root); });
}

const std::vector<EvenTrees>& MachineView::even_trees(Collective collective,
                                                      std::uint32_t root) const {
    return find_once(even_trees_, collective, root,
                     [&] { return find_even_trees(trees(collective, root), collective); });
}

/// No trees, but how fast it can be.
TreePacking MachineView::exchange_packing(Collective collective, std::uint32_t root) const {
    const ForestRequest request{
        .model = routing_->model(),
        .gpus = routing_->gpus(),
        .links = routing_->fabric_only() ? LinkFilter::nvlink : LinkFilter::all,
        .root = routing_->gpus()[root]};
    const ExchangeKind kind = collective == Collective::all_to_all ? ExchangeKind::all_to_all
                              : collective == Collective::gather   ? ExchangeKind::gather
                                                                   : ExchangeKind::scatter;
    TreePacking packing{.routing = routing_};
    try {
        const ExchangeBound bound = exchange_bound(routing_->topology(), request, kind);
        packing.throughput = bound.throughput.convert_to<double>();
    } catch (const TopologyError& error) {
        packing.problem = error.what();
    }
    return packing;
}

TreePacking MachineView::find_trees(Collective collective, std::uint32_t root) const {
    if (routing_ == nullptr) return {.trees = stars(ranks_, collective, root)};
    const std::optional<ForestCollective> kind = forest_collective(collective);
    if (!kind) return exchange_packing(collective, root);
    ForestRequest request{.model = routing_->model(),
                          .collective = *kind,
                          .gpus = routing_->gpus(),
                          .links = routing_->fabric_only() ? LinkFilter::nvlink : LinkFilter::all,
                          .most_even_units = 64};
    if (has_one_root(collective)) request.root = routing_->gpus()[root];
    TreePacking packing;
    try {
        const Forest forest = build_forest(routing_->topology(), request);
        if (!forest.bound.unlimited) {
            packing.throughput = forest.bound.throughput.convert_to<double>();
        }
        auto routing = std::make_shared<Routing>(*routing_);
        routing->use(forest);
        packing.routing = std::move(routing);
        for (const ForestTree& tree : forest.trees) {
            packing.trees.push_back(tree_of_ranks(tree, routing_->gpus()));
        }
    } catch (const TopologyError& error) {
        packing.problem = error.what();
    }
    return packing;
}

}  // namespace rondo
