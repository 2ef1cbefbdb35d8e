// Trees, and what moves along them: the common ground of all strategies but ring and direct.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/builder.hpp"
#include "strategy/machine_view.hpp"

namespace rondo {

/// A spanning tree of the ranks.
struct Tree {
    std::uint32_t root = 0;
    /// For each rank what it folds, in this order: itself and its children.
    std::vector<std::vector<std::uint32_t>> folds = {};
};

/// Child i of the node at position p of `order` is at position arity * p + i + 1.
Tree make_heap_tree(const std::vector<std::uint32_t>& order, std::uint32_t arity);

/// Ranks that want the result or lie on the way from the root to one that does.
std::vector<bool> reached_by(const Tree& tree, std::vector<bool> wanted);

/// All ranks send to the root, which folds in the order of ranks.
Tree make_star(std::uint32_t ranks, std::uint32_t root);

/// The lanes that a unit uses at every rank: two, so that the way up and the way down overlap, or
/// one.
struct TreeLanes {
    std::uint32_t up = 0;
    std::uint32_t down = 1;
    /// Parents read the inputs of leaves over the fabric, instead of having them sent: fewer steps
    /// and no scratch. The result tells a leaf that its input has been read, or an event where it
    /// gets none. What only goes down is read at the root by those of its children that pass it on.
    bool pull_leaves = false;
    /// A channel per level, so that the units of a lane may be out of step from level to level.
    bool channel_per_level = false;
    /// Per rank, instead of `up` and `down`.
    std::span<const std::uint32_t> up_at = {};
    std::span<const std::uint32_t> down_at = {};
    /// Who reaches whose memory; null: everybody. Others exchange by channels only.
    const MachineView* machine = nullptr;
    /// The ways that the tree's traffic takes; null: those of the machine.
    const Routing* routing = nullptr;
};

/// Whether `pull_leaves` has the rank's input read by its parent: it is a leaf, and the parent
/// reaches its memory by NVLink or the like. Over PCI ranks send.
bool is_pulled_leaf(const Tree& tree, std::uint32_t rank, std::uint32_t parent,
                    const TreeLanes& lanes);

/// All inputs of the unit go up and become one result, which goes down to everybody who has an
/// output of it (`wanted[rank]`).
void add_reduction(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit, TreeLanes lanes,
                   const std::vector<bool>& wanted);

/// The input of the root goes down.
void add_broadcast(ScheduleBuilder& builder, const Tree& tree, std::uint32_t unit, TreeLanes lanes,
                   const std::vector<bool>& wanted);

}  // namespace rondo
