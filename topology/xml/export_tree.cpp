// The first half of writing NCCL's file: which node goes below which, as the format is a tree.
#include "topology/xml/export_tree.hpp"

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

class TreeBuilder {
public:
    explicit TreeBuilder(const Topology& topology) : topology_(topology), nodes_(topology.nodes()) {
        tree_.children.resize(nodes_.size());
        tree_.root.assign(nodes_.size(), -1);
        tree_.parent.assign(nodes_.size(), -1);
        neighbours_.resize(nodes_.size());
        leader_.resize(nodes_.size());
        std::iota(leader_.begin(), leader_.end(), 0);
        for (const Node& node : nodes_) rooted_.push_back(node.type == NodeType::cpu);
    }

    ExportTree run() {
        choose_links();
        for (int node = 0; node < count(); ++node) {
            if (type(node) == NodeType::cpu) hang_below_root(node, add_root(node));
        }
        hang_orphans();
        hang_ports();
        sort_children();
        return std::move(tree_);
    }

private:
    int count() const { return static_cast<int>(nodes_.size()); }
    NodeType type(int node) const { return nodes_[at(node)].type; }
    bool is_port(int node) const { return nodes_[at(node)].net.has_value(); }
    bool may_have_children(int node) const {
        return type(node) == NodeType::cpu || type(node) == NodeType::network_switch;
    }

    int leader(int node) {
        while (leader_[at(node)] != node) {
            leader_[at(node)] = leader_[at(leader_[at(node)])];
            node = leader_[at(node)];
        }
        return node;
    }

    /// Joins along the PCI links, in their order, what is not joined yet.
    void choose_links() {
        for (const Link& link : topology_.links()) {
            if (link.kind == LinkKind::pci) join(link.source, link.target);
        }
    }

    void join(int a, int b) {
        const int leader_a = leader(a);
        const int leader_b = leader(b);
        if (leader_a == leader_b || is_port(a) || is_port(b)) return;
        if (nodes_[at(a)].host != nodes_[at(b)].host) return;
        if (rooted_[at(leader_a)] && rooted_[at(leader_b)]) return;
        for (const auto& [node, other] : {std::pair(a, b), std::pair(b, a)}) {
            if (may_have_children(node)) continue;
            if (!may_have_children(other) || !neighbours_[at(node)].empty()) return;
        }
        neighbours_[at(a)].push_back(b);
        neighbours_[at(b)].push_back(a);
        rooted_[at(leader_b)] = rooted_[at(leader_a)] || rooted_[at(leader_b)];
        leader_[at(leader_a)] = leader_b;
    }

    int add_root(std::optional<int> cpu, int host = 0) {
        tree_.roots.push_back({cpu, cpu ? nodes_[at(*cpu)].host : host});
        return static_cast<int>(tree_.roots.size()) - 1;
    }

    /// Everything that is joined to `top`, which is a CPU or goes directly below one.
    void hang_below_root(int top, int root) {
        tree_.root[at(top)] = root;
        std::vector<int> queue{top};
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const int node = queue[head];
            for (const int next : neighbours_[at(node)]) {
                if (tree_.root[at(next)] >= 0) continue;
                tree_.root[at(next)] = root;
                tree_.parent[at(next)] = node;
                const bool below_cpu = type(node) == NodeType::cpu;
                auto& siblings =
                    below_cpu ? tree_.roots[at(root)].children : tree_.children[at(node)];
                siblings.push_back(next);
                queue.push_back(next);
            }
        }
    }

    /// Switches first, so that what hangs below them comes along.
    void hang_orphans() {
        const std::vector<bool> nvswitch = find_nvswitches(topology_);
        for (const bool switches : {true, false}) {
            for (int node = 0; node < count(); ++node) {
                if (tree_.root[at(node)] >= 0 || is_port(node)) continue;
                if ((type(node) == NodeType::network_switch) != switches) continue;
                if (switches && !is_pci_switch(node, nvswitch)) continue;
                const int root = root_of_host(nodes_[at(node)].host);
                hang_below_root(node, root);
                tree_.roots[at(root)].children.push_back(node);
            }
        }
    }

    /// What has PCI links belongs into the tree, whatever else it is joined to.
    bool is_pci_switch(int node, const std::vector<bool>& nvswitch) const {
        if (!neighbours_[at(node)].empty()) return true;
        if (nodes_[at(node)].pci) return !nvswitch[at(node)];
        return std::ranges::none_of(topology_.links(), [node](const Link& link) {
            return link.source == node || link.target == node;
        });
    }

    int root_of_host(int host) {
        const auto found = std::ranges::find(tree_.roots, host, &ExportRoot::host);
        if (found != tree_.roots.end()) return static_cast<int>(found - tree_.roots.begin());
        return add_root(std::nullopt, host);
    }

    void hang_ports() {
        for (const Link& link : topology_.links()) {
            for (const auto& [port, nic] :
                 {std::pair(link.source, link.target), std::pair(link.target, link.source)}) {
                if (link.kind != LinkKind::network || !is_port(port) || is_port(nic)) continue;
                if (type(nic) != NodeType::nic || tree_.root[at(port)] >= 0) continue;
                if (nodes_[at(port)].host != nodes_[at(nic)].host) continue;
                tree_.root[at(port)] = tree_.root[at(nic)];
                tree_.parent[at(port)] = nic;
                tree_.children[at(nic)].push_back(port);
            }
        }
    }

    void sort_children() {
        const auto order = [this](int node) {
            return std::pair(type(node) != NodeType::network_switch, node);
        };
        for (auto& children : tree_.children) std::ranges::sort(children, {}, order);
        for (auto& root : tree_.roots) std::ranges::sort(root.children, {}, order);
    }

    const Topology& topology_;
    const std::vector<Node>& nodes_;
    ExportTree tree_;
    std::vector<std::vector<int>> neighbours_;
    std::vector<int> leader_;   ///< union-find
    std::vector<bool> rooted_;  ///< of a leader: its set contains a CPU
};

}  // namespace

LinkFinder::LinkFinder(const std::vector<Link>& links) {
    for (std::size_t index = 0; index < links.size(); ++index) {
        index_.emplace(std::tuple(links[index].source, links[index].target, links[index].kind),
                       index);
    }
}

std::optional<std::size_t> LinkFinder::find(int source, int target, LinkKind kind) const {
    const auto found = index_.find({source, target, kind});
    return found == index_.end() ? std::nullopt : std::optional(found->second);
}

ExportTree build_export_tree(const Topology& topology) {
    return TreeBuilder(topology).run();
}

std::vector<bool> find_nvswitches(const Topology& topology) {
    std::vector<bool> result(topology.nodes().size());
    const auto type = [&](int node) { return topology.nodes()[at(node)].type; };
    for (const Link& link : topology.links()) {
        for (const auto& [gpu, other] :
             {std::pair(link.source, link.target), std::pair(link.target, link.source)}) {
            if (link.kind == LinkKind::nvlink && type(gpu) == NodeType::gpu &&
                type(other) == NodeType::network_switch) {
                result[at(other)] = true;
            }
        }
    }
    return result;
}

}  // namespace rondo
