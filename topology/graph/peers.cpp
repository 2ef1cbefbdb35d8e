// Which GPUs can map each other's memory, found from the wiring alone.
#include "topology/graph/peers.hpp"

#include <algorithm>
#include <cstddef>

namespace rondo {
namespace {

/// Searches along the links of one kind; GPUs and NICs end a path, only switches and (for PCI) one
/// CPU continue it.
class KindSearch {
public:
    KindSearch(const std::vector<Node>& nodes, const std::vector<Link>& links, LinkKind kind)
        : nodes_(nodes), next_(nodes.size()), cpus_allowed_(kind == LinkKind::pci ? 1 : 0) {
        for (const Link& link : links) {
            if (link.kind == kind) next_[index(link.source)].push_back(link.target);
        }
        used_ = std::ranges::any_of(links, [kind](const Link& link) { return link.kind == kind; });
    }

    bool used() const { return used_; }

    /// For every node: whether a path leads there from `start`.
    std::vector<bool> reached_from(int start) const {
        std::vector<int> cpus_on_path(nodes_.size(), unreached);
        std::vector<int> queue{start};
        cpus_on_path[index(start)] = 0;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const int here = queue[head];
            const int cpus = cpus_on_path[index(here)];
            if (here != start && !continues(here)) continue;
            for (const int target : next_[index(here)]) {
                const int with_target = cpus + (nodes_[index(target)].type == NodeType::cpu);
                if (with_target > cpus_allowed_ || with_target >= cpus_on_path[index(target)]) {
                    continue;
                }
                cpus_on_path[index(target)] = with_target;
                queue.push_back(target);
            }
        }
        std::vector<bool> reached(nodes_.size());
        for (std::size_t i = 0; i < reached.size(); ++i) reached[i] = cpus_on_path[i] != unreached;
        return reached;
    }

private:
    static constexpr int unreached = 1'000'000;
    static std::size_t index(int node) { return static_cast<std::size_t>(node); }

    bool continues(int node) const {
        const NodeType type = nodes_[index(node)].type;
        return type == NodeType::network_switch || type == NodeType::cpu;
    }

    const std::vector<Node>& nodes_;
    std::vector<std::vector<int>> next_;
    int cpus_allowed_;
    bool used_ = false;
};

void add_kind(std::vector<std::uint8_t>& peers, const KindSearch& search,
              const std::vector<int>& gpus, std::uint8_t bit) {
    const std::size_t count = gpus.size();
    std::vector<std::vector<bool>> reached;
    for (const int gpu : gpus) reached.push_back(search.reached_from(gpu));
    for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < count; ++to) {
            const bool there = reached[from][static_cast<std::size_t>(gpus[to])];
            const bool back = reached[to][static_cast<std::size_t>(gpus[from])];
            if (there && back) peers[from * count + to] |= bit;
        }
    }
}

}  // namespace

std::vector<std::uint8_t> find_peers(const std::vector<Node>& nodes, const std::vector<Link>& links,
                                     const std::vector<int>& gpus) {
    std::vector<std::uint8_t> peers(gpus.size() * gpus.size(), 0);
    for (const LinkKind kind :
         {LinkKind::nvlink, LinkKind::xgmi, LinkKind::memory, LinkKind::pci}) {
        const KindSearch search(nodes, links, kind);
        if (!search.used()) continue;
        add_kind(peers, search, gpus, kind == LinkKind::pci ? peer_by_pci : peer_by_fabric);
    }
    return peers;
}

}  // namespace rondo
