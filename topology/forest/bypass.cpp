// The terminals of a packing alone: what goes several ways between two of them counts as one arc.
#include "topology/forest/bypass.hpp"

#include <map>

#include "topology/forest/relay_removal.hpp"

namespace rondo::forest {
namespace {

std::vector<PathShare> shares_of(const ArcSet::Arc& arc) {
    std::map<Path, Units> amounts;
    for (const ArcPiece& piece : arc.pieces) amounts[piece.path] += piece.amount;
    std::vector<PathShare> shares;
    for (const auto& [path, amount] : amounts) {
        if (amount == 0) continue;
        shares.push_back({Rational(to_rational(amount) / to_rational(arc.capacity)), path});
    }
    return shares;
}

}  // namespace

Bypass::Bypass(const ScaledPacking& packing) : packing_(packing) {
    network_.terminals = network_.vertices = packing.packing.network->terminals;
    packing_.packing.network = &network_;
    packing_.packing.capacity.clear();
    const ArcSet arcs = remove_relays(packing.packing);
    for (int a = 0; a < network_.terminals; ++a) {
        for (int b = a + 1; b < network_.terminals; ++b) {
            const Units forward = arcs.capacity(a, b);
            const Units backward = arcs.capacity(b, a);
            if (forward + backward == 0) continue;
            network_.edges.push_back({a, b, forward});
            for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
                const int arc = arcs.find(from, to);
                packing_.packing.capacity.push_back(arcs.capacity(from, to));
                ways_.push_back(arc < 0 ? std::vector<PathShare>() : shares_of(arcs.arcs()[arc]));
            }
        }
    }
}

std::vector<PathShare> Bypass::expand(const Path& path) const {
    std::vector<PathShare> open{{1, {}}};
    for (const Step step : path) {
        std::vector<PathShare> longer;
        for (const PathShare& begun : open) {
            for (const PathShare& way : ways_[packing_.packing.slot(step)]) {
                longer.push_back({Rational(begun.share * way.share), begun.path});
                longer.back().path.insert(longer.back().path.end(), way.path.begin(),
                                          way.path.end());
            }
        }
        open = std::move(longer);
    }
    return open;
}

}  // namespace rondo::forest
