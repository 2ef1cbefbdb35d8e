// The terminals of a packing alone: what goes several ways between two of them counts as one arc.
#pragma once

#include <vector>

#include "topology/forest/packing.hpp"
#include "topology/forest/reduction.hpp"

namespace rondo::forest {

/// Relays are split off exactly (relay_removal), then all paths from one terminal to another are
/// one arc, which tree edges use in proportion. Where few units are to fill links, an arc of 32 has
/// less waste than 20 of NVLink and 12 of PCI.
class Bypass {
public:
    /// The packing is rooted and packable.
    explicit Bypass(const ScaledPacking& packing);
    Bypass(const Bypass&) = delete;
    Bypass& operator=(const Bypass&) = delete;

    /// On a network of its own, without relays.
    const ScaledPacking& packing() const { return packing_; }
    /// The paths that a path of that network stands for.
    std::vector<PathShare> expand(const Path& path) const;

private:
    Network network_;
    ScaledPacking packing_;
    std::vector<std::vector<PathShare>> ways_;  ///< per slot
};

}  // namespace rondo::forest
