// Conditions that the trees of a rooted packing have to respect, and how violated ones are found.
#include "topology/forest/cut.hpp"

#include <utility>

namespace rondo::forest {

Units slack_of(const Packing& packing, const std::vector<bool>& inside) {
    const Network& network = *packing.network;
    Units slack = 0;
    for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
        const auto [a, b, unused] = network.edges[edge];
        if (inside[a] == inside[b]) continue;
        slack += packing.capacity[2 * edge + (inside[b] ? 0 : 1)];
    }
    for (int terminal = 0; terminal < network.terminals; ++terminal) {
        if (!inside[terminal]) slack -= packing.roots[terminal];
    }
    return slack;
}

std::optional<std::vector<bool>> CutOracle::violated(const Packing& packing) {
    for (int terminal = 0; terminal < network_.terminals; ++terminal) {
        flow_.set_root(terminal, packing.roots[terminal]);
    }
    for (std::size_t edge = 0; edge < network_.edges.size(); ++edge) {
        flow_.set_edge(static_cast<int>(edge), packing.capacity[2 * edge],
                       packing.capacity[2 * edge + 1]);
    }
    for (int tried = 0; tried < network_.terminals; ++tried) {
        const int terminal = (start_ + tried) % network_.terminals;
        if (flow_.run(terminal, packing.total) == packing.total) continue;
        start_ = terminal;
        return flow_.sink_side(terminal);
    }
    return std::nullopt;
}

void KnownCuts::add(Cut cut) {
    const int number = static_cast<int>(cuts_.size());
    for (std::size_t edge = 0; edge < network_.edges.size(); ++edge) {
        const auto [a, b, unused] = network_.edges[edge];
        if (cut.entered_by(a, b)) entered_[2 * edge].push_back(number);
        if (cut.entered_by(b, a)) entered_[2 * edge + 1].push_back(number);
    }
    cuts_.push_back(std::move(cut));
}

std::vector<int> KnownCuts::extra_entries(const PackedTree& tree) const {
    std::vector<int> extra;
    for (const Cut& cut : cuts_) extra.push_back(cut.inside[tree.root] ? 0 : -1);
    for (const PackedEdge& edge : tree.edges) {
        for (const Step step : edge.path) {
            for (const int cut : entered_by(step)) ++extra[cut];
        }
    }
    return extra;
}

void KnownCuts::take(const PackedTree& tree, Units weight) {
    const std::vector<int> extra = extra_entries(tree);
    for (std::size_t cut = 0; cut < cuts_.size(); ++cut) cuts_[cut].slack -= weight * extra[cut];
}

}  // namespace rondo::forest
