// Tree: reduce up a tree of some arity, broadcast down. 2 log(N) hops; every rank receives as many
// messages as it has children and sends as many again.
//
// Large messages: as many trees as the arity, in which each rank is an inner node once. A rank then
// receives the message once on the way up and once on the way down, and sends as much: where all
// are joined alike no link is idle. Two binary trees are NCCL's; N - 1 trees are direct.
#include <algorithm>

#include "strategy/on_trees.hpp"

namespace rondo {
namespace {

/// After those of tree_variants().
constexpr std::uint32_t interleaved = 2;

bool is_rooted_at_one(Collective collective) {
    return collective == Collective::reduce || collective == Collective::broadcast;
}

/// Of a heap.
std::size_t inner_nodes(std::size_t ranks, std::uint32_t arity) {
    return (ranks - 1 + arity - 1) / arity;
}

/// Arity trees over the same order, each begun where the inner nodes of the one before end. Below
/// the root of the collective, if it has one.
std::vector<Tree> interleaved_trees(const BuildInput& input) {
    const std::uint32_t arity = input.strategy.parameter();
    const bool rooted = is_rooted_at_one(input.collective);
    std::vector<std::uint32_t> order = input.machine.ring_order_from(rooted ? input.root : 0);
    if (rooted) order.erase(order.begin());
    const std::size_t inner = inner_nodes(order.size(), arity);
    std::vector<Tree> trees;
    for (std::uint32_t i = 0; i < arity; ++i) {
        std::vector<std::uint32_t> rotated = order;
        const std::size_t first = i * inner % order.size();
        std::rotate(rotated.begin(), rotated.begin() + static_cast<std::ptrdiff_t>(first),
                    rotated.end());
        Tree& tree = trees.emplace_back(make_heap_tree(rotated, arity));
        if (!rooted) continue;
        tree.folds.resize(input.ranks());
        tree.folds[input.root] = {input.root, tree.root};
        tree.root = input.root;
    }
    return trees;
}

Schedule build_tree(const BuildInput& input) {
    if (input.variant == interleaved) return build_side_by_side(input, interleaved_trees(input));
    const std::uint32_t centre =
        input.collective == Collective::reduce ? input.root : input.machine.ring_order().front();
    return build_on_trees(input, {.centre = [&](std::uint32_t) { return centre; },
                                  .tree =
                                      [&](std::uint32_t root) {
                                          return make_heap_tree(input.machine.ring_order_from(root),
                                                                input.strategy.parameter());
                                      }});
}

std::vector<std::uint32_t> variants_of_tree(const BuildInput& input, std::uint64_t bytes) {
    std::vector<std::uint32_t> variants = tree_variants(input, bytes);
    const std::uint32_t arity = input.strategy.parameter();
    const bool whole = input.collective == Collective::all_reduce ||
                       (is_rooted_at_one(input.collective) && input.destinations.empty()) ||
                       (input.collective == Collective::reduce && input.destinations.size() == 1);
    const std::uint32_t below = input.ranks() - (is_rooted_at_one(input.collective) ? 1 : 0);
    const bool fits = arity >= 2 && below > arity && arity * inner_nodes(below, arity) <= below;
    if (bytes > small_message && whole && fits) variants.push_back(interleaved);
    return variants;
}

/// Few hops where there are many ranks; an arity that leaves no rank out is best.
std::vector<std::uint32_t> tree_forms(const BuildInput& input, std::uint64_t) {
    std::vector<std::uint32_t> forms{2, 4};
    if (input.ranks() < 16) return forms;
    std::uint32_t wide = 8;
    for (const std::uint32_t arity : {6u, 10u, 9u, 7u, 8u}) {
        if ((input.ranks() - 2) % arity == 0) wide = arity;
    }
    forms.push_back(wide);
    return forms;
}

}  // namespace

extern constinit const StrategyEntry tree_strategy{
    .name = "tree",
    .parameter = "arity",
    .least = 1,
    .most = INT32_MAX,
    .samples =
        [] {
            return std::vector<std::uint32_t>{1, 2, 5};
        },
    .forms = tree_forms,
    .variants = variants_of_tree,
    .build = build_tree};

}  // namespace rondo
