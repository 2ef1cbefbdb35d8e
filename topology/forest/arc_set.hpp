// Directed capacities between vertices that remember which paths of the network they consist of.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "topology/forest/packing.hpp"

namespace rondo::forest {

/// Part of an arc's capacity: an amount that takes one path.
struct ArcPiece {
    Units amount = 0;
    Path path;
};

/// At most one arc per ordered pair of vertices. Arcs are never removed; an empty one has capacity
/// 0.
class ArcSet {
public:
    /// One arc per direction of every edge that has capacity left.
    explicit ArcSet(const Packing& packing);

    struct Arc {
        int from = 0;
        int to = 0;
        Units capacity = 0;
        std::vector<ArcPiece> pieces = {};
    };
    const std::vector<Arc>& arcs() const { return arcs_; }
    /// The number of an arc, -1 if there is none.
    int find(int from, int to) const;
    Units capacity(int from, int to) const;
    void put(int from, int to, ArcPiece piece);
    /// Removes pieces that add up to the amount, which must not exceed the capacity.
    std::vector<ArcPiece> take(int arc, Units amount);

private:
    std::vector<Arc> arcs_;
    std::map<std::pair<int, int>, int> number_;
};

}  // namespace rondo::forest
