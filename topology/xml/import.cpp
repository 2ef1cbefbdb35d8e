// Reads NCCL's topology file: gives the tree's nodes their order and ids, and joins the halves.
#include <algorithm>
#include <map>

#include "topology/graph/error.hpp"
#include "topology/xml/import_links.hpp"
#include "topology/xml/import_tree.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo {
namespace {

/// Puts the nodes in order: GPUs by machine and device number, CPUs, PCI switches, NVSwitches,
/// NICs, ports. Within a type the order of a walk over the tree, which export repeats.
class NodeOrder {
public:
    explicit NodeOrder(const Tree& tree) : tree_(tree) {
        graph_.place.assign(tree.nodes.size(), -1);
    }

    GraphParts run() {
        for (const int root : tree_.roots) walk(root);
        sort_gpus();
        place_all(gpus_, "gpu");
        place_all(cpus_, "cpu");
        place_all(switches_, "pci");
        add_nvswitches(tree_, graph_);
        place_all(nics_, "nic");
        place_all(ports_, "net");
        return std::move(graph_);
    }

private:
    const TreeNode& at(int index) const { return tree_.nodes[static_cast<std::size_t>(index)]; }

    void walk(int index) {
        const TreeNode& node = at(index);
        switch (node.node.type) {
            case NodeType::gpu:
                gpus_.push_back(index);
                break;
            case NodeType::cpu:
                cpus_.push_back(index);
                break;
            case NodeType::network_switch:
                switches_.push_back(index);
                break;
            case NodeType::nic:
                (node.node.net ? ports_ : nics_).push_back(index);
                break;
        }
        for (const bool switches : {true, false}) {
            for (const int child : node.children) {
                if ((at(child).node.type == NodeType::network_switch) == switches) walk(child);
            }
        }
    }

    void sort_gpus() {
        const auto number = [this](int index) {
            return std::pair(at(index).node.host, at(index).rank.device);
        };
        std::ranges::sort(gpus_, {}, number);
        const auto twice = std::ranges::adjacent_find(gpus_, {}, number);
        if (twice != gpus_.end()) at(twice[1]).element.fail("the gpu's dev is there twice");
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            first_of_host_.emplace(at(gpus_[i]).node.host, static_cast<int>(i));
        }
        graph_.gpus = gpus_;
    }

    void place_all(const std::vector<int>& indices, const std::string& prefix) {
        int number = 0;
        for (const int index : indices) {
            if (at(index).implied) continue;
            Node node = at(index).node;
            const XmlElement& element = at(index).gpu ? *at(index).gpu : at(index).element;
            node.id = element.text_or(extension::id, prefix + std::to_string(number));
            if (node.type == NodeType::gpu) node.gpu.rank = unusual_rank(index, number);
            graph_.place[static_cast<std::size_t>(index)] = static_cast<int>(graph_.nodes.size());
            graph_.nodes.push_back(std::move(node));
            ++number;
        }
    }

    /// Nothing for a GPU that is numbered like its place in the machine and in the topology.
    std::optional<RankInfo> unusual_rank(int index, int number) const {
        RankInfo rank = at(index).rank;
        if (rank.rank == no_rank) rank.rank = number;
        const int first = first_of_host_.at(at(index).node.host);
        const RankInfo usual{.device = number - first, .rank = number};
        return rank == usual ? std::nullopt : std::optional(rank);
    }

    const Tree& tree_;
    GraphParts graph_;
    std::vector<int> gpus_, cpus_, switches_, nics_, ports_;
    std::map<int, int> first_of_host_;
};

}  // namespace

Topology topology_from_nccl_xml(std::string_view text) {
    const XmlDocument document(text);
    const XmlElement system = document.root();
    if (!system.is("system")) system.fail("expected the element system");
    system.integer("version", 1, 2);
    const Tree tree = read_tree(system);
    GraphParts graph = NodeOrder(tree).run();
    if (graph.gpus.empty()) system.fail("there is no gpu");
    add_links(tree, graph);
    Topology topology(system.text_or("name", unnamed), std::move(graph.nodes),
                      std::move(graph.links));
    topology.set_pci_peer_access(system.integer_or(extension::pci_peer_access, 0, 1, 1) == 1);
    return topology;
}

}  // namespace rondo
