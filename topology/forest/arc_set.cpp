// Directed capacities between vertices that remember which paths of the network they consist of.
#include "topology/forest/arc_set.hpp"

#include <algorithm>

namespace rondo::forest {

ArcSet::ArcSet(const Packing& packing) {
    for (int edge = 0; edge < static_cast<int>(packing.network->edges.size()); ++edge) {
        for (const Step step : {Step{edge, true}, Step{edge, false}}) {
            const Units capacity = packing.capacity[packing.slot(step)];
            if (capacity == 0) continue;
            put(packing.network->tail(step), packing.network->head(step), {capacity, {step}});
        }
    }
}

int ArcSet::find(int from, int to) const {
    const auto entry = number_.find({from, to});
    return entry == number_.end() ? -1 : entry->second;
}

Units ArcSet::capacity(int from, int to) const {
    const int arc = find(from, to);
    return arc < 0 ? 0 : arcs_[arc].capacity;
}

void ArcSet::put(int from, int to, ArcPiece piece) {
    const auto [entry, fresh] =
        number_.emplace(std::pair(from, to), static_cast<int>(arcs_.size()));
    if (fresh) arcs_.push_back({from, to});
    Arc& arc = arcs_[entry->second];
    arc.capacity += piece.amount;
    arc.pieces.push_back(std::move(piece));
}

std::vector<ArcPiece> ArcSet::take(int number, Units amount) {
    Arc& arc = arcs_[number];
    arc.capacity -= amount;
    std::vector<ArcPiece> taken;
    while (amount > 0) {
        ArcPiece& last = arc.pieces.back();
        taken.push_back({std::min(amount, last.amount), last.path});
        amount -= taken.back().amount;
        last.amount -= taken.back().amount;
        if (last.amount == 0) arc.pieces.pop_back();
    }
    return taken;
}

}  // namespace rondo::forest
