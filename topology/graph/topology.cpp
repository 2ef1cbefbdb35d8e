// The topology value.
#include "topology/graph/topology.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "topology/graph/error.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/peers.hpp"
#include "topology/graph/validate.hpp"

namespace rondo {
namespace {

std::vector<int> gpu_nodes(const std::vector<Node>& nodes) {
    std::vector<int> gpus;
    for (std::size_t index = 0; index < nodes.size(); ++index) {
        if (nodes[index].type == NodeType::gpu) gpus.push_back(static_cast<int>(index));
    }
    return gpus;
}

}  // namespace

Topology::Topology(std::string name, std::vector<Node> nodes, std::vector<Link> links)
    : name_(std::move(name)), nodes_(std::move(nodes)), links_(std::move(links)) {
    try {
        validate(nodes_, links_);
    } catch (const TopologyError& error) {
        throw TopologyError("topology " + in_quotes(name_) + ": " + error.what());
    }
    gpus_ = gpu_nodes(nodes_);
    peers_ = find_peers(nodes_, links_, gpus_);
}

std::optional<int> Topology::find_node(std::string_view id) const {
    const auto found = std::ranges::find(nodes_, id, &Node::id);
    if (found == nodes_.end()) return std::nullopt;
    return static_cast<int>(found - nodes_.begin());
}

void Topology::set_no_peer_access(std::vector<std::pair<int, int>> pairs) {
    std::ranges::sort(pairs);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    for (const auto& [from, to] : pairs) {
        for (const int gpu : {from, to}) {
            if (gpu >= 0 && gpu < gpu_count()) continue;
            throw TopologyError("no_peer_access: there is no GPU " + std::to_string(gpu) +
                                " among " + std::to_string(gpu_count()));
        }
        if (from == to) {
            throw TopologyError("no_peer_access: GPU " + std::to_string(from) +
                                " always reaches itself");
        }
    }
    no_peer_access_ = std::move(pairs);
}

bool Topology::peer_access(int from, int to) const {
    for (const int gpu : {from, to}) {
        if (gpu < 0 || gpu >= gpu_count()) {
            throw std::out_of_range("peer_access: there is no GPU " + std::to_string(gpu) +
                                    " among " + std::to_string(gpu_count()));
        }
    }
    if (from == to) return true;
    if (std::ranges::binary_search(no_peer_access_, std::pair(from, to))) return false;
    const auto cell =
        peers_[static_cast<std::size_t>(from) * gpus_.size() + static_cast<std::size_t>(to)];
    return (cell & peer_by_fabric) != 0 || (pci_peer_access_ && (cell & peer_by_pci) != 0);
}

}  // namespace rondo
