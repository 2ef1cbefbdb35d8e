// The second half of reading NCCL's file: every link, between nodes that have their places.
#include "topology/xml/import_links.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "topology/graph/names.hpp"
#include "topology/graph/validate.hpp"
#include "topology/xml/rules.hpp"

namespace rondo {
namespace {

const TreeNode& tree_node(const Tree& tree, int index) {
    return tree.nodes[static_cast<std::size_t>(index)];
}

std::string nvswitch_id(const XmlElement& nvlink) {
    return nvlink.text_or(extension::network_switch, "nvs");
}

bool leads_to_nvswitch(const XmlElement& link) {
    if (!link.is("nvlink")) return false;
    const PciClass target = pci_class(link.text("tclass"));
    return target != PciClass::gpu && target != PciClass::cpu;
}

class LinkReader {
public:
    LinkReader(const Tree& tree, GraphParts& graph) : tree_(tree), graph_(graph) {}

    void run() {
        for (const int gpu : graph_.gpus) add_fabric(gpu);
        sort_new_links();
        for (const int gpu : graph_.gpus) add_c2c(gpu);
        sort_new_links();
        for (const int root : tree_.roots) add_tree_links(root);
        sort_new_links();
        for (const int root : tree_.roots) add_switch_links(root);
        sort_new_links();
        for (const int root : tree_.roots) add_inter_socket(root);
        sort_new_links();
    }

private:
    int place(int index) const { return graph_.place[static_cast<std::size_t>(index)]; }

    /// Those since the last call.
    void sort_new_links() {
        const auto ends = [](const Link& link) { return std::pair(link.source, link.target); };
        const auto first = graph_.links.begin() + static_cast<std::ptrdiff_t>(sorted_);
        std::ranges::sort(first, graph_.links.end(), {}, ends);
        for (; sorted_ < graph_.links.size(); ++sorted_) {
            const Link& link = graph_.links[sorted_];
            known_[{link.source, link.target, link.kind}] = sorted_;
        }
    }

    /// Adds to the link of that kind between these nodes if there is one.
    void connect(const XmlElement& element, int source, int target, Link link) {
        if (source < 0 || target < 0) return;
        if (source == target) element.fail("a link from a device to itself");
        link.source = source;
        link.target = target;
        const auto [known, fresh] =
            known_.emplace(std::tuple(source, target, link.kind), graph_.links.size());
        if (fresh) {
            if (graph_.links.size() >= TopologyLimits::links)
                element.fail("there are too many links");
            graph_.links.push_back(link);
            return;
        }
        Link& sum = graph_.links[known->second];
        sum.count += link.count;
        sum.nominal += link.nominal;
        sum.nccl += link.nccl;
        check(element, sum);
    }

    /// Long before a sum can overflow.
    static void check(const XmlElement& element, const Link& sum) {
        if (sum.count > TopologyLimits::count || sum.nominal > TopologyLimits::bandwidth ||
            sum.nccl > TopologyLimits::bandwidth) {
            element.fail("parallel links add up to more than a topology can hold");
        }
    }

    void connect(const XmlElement& element, int source, int target, const LinkPair& pair) {
        for (const auto& link : {pair.there, pair.back}) {
            if (link && (link->nominal > TopologyLimits::bandwidth || link->nominal < 1 ||
                         link->nccl > TopologyLimits::bandwidth || link->nccl < 1 ||
                         link->count < 1 || link->count > TopologyLimits::count)) {
                element.fail("the count or bandwidth of the link is out of range");
            }
        }
        if (pair.there) connect(element, source, target, *pair.there);
        if (pair.back) connect(element, target, source, *pair.back);
    }

    void add_fabric(int gpu) {
        const TreeNode& node = tree_node(tree_, gpu);
        if (!node.gpu) return;
        const GpuInfo& info = node.node.gpu;
        const Bandwidth nvlink = nvlink_bandwidth(info.compute_major * 10 + info.compute_minor);
        for (const XmlElement& child : node.gpu->children()) {
            if (child.is("nvlink")) add_fabric_link(child, gpu, LinkKind::nvlink, nvlink);
            if (child.is("xgmi")) {
                add_fabric_link(child, gpu, LinkKind::xgmi, xgmi_bandwidth(node.rank.gcn));
            }
        }
    }

    void add_fabric_link(const XmlElement& element, int gpu, LinkKind kind, Bandwidth per_link) {
        const int count = element.integer("count", 1, TopologyLimits::count);
        const PciClass target = pci_class(element.text("tclass"));
        LinkPair pair = both_ways(make_link(kind, count, per_link * count));
        if (kind == LinkKind::xgmi || target == PciClass::gpu) {
            // The peer lists its own direction.
            pair.back = std::nullopt;
            const auto peer = find_peer(element, gpu);
            if (peer >= 0) connect(element, place(gpu), peer, read_links(element, pair));
        } else if (target == PciClass::cpu) {
            connect(element, place(gpu), place(root_of(gpu)), read_links(element, pair));
        } else {
            const int nvswitch = graph_.nvswitches.at(nvswitch_id(element));
            connect(element, place(gpu), nvswitch, read_links(element, pair));
        }
    }

    /// Place of the GPU with the target's bus id in the same machine, or -1: NCCL ignores the rest.
    int find_peer(const XmlElement& element, int gpu) const {
        const PciAddress address(tree_node(tree_, gpu).node.host, element.bus_id("target"));
        const auto found = tree_.by_address.find(address);
        if (found == tree_.by_address.end()) return -1;
        if (tree_node(tree_, found->second).node.type != NodeType::gpu) return -1;
        return place(found->second);
    }

    int root_of(int index) const {
        while (tree_node(tree_, index).parent >= 0) index = tree_node(tree_, index).parent;
        return index;
    }

    void add_c2c(int gpu) {
        const TreeNode& node = tree_node(tree_, gpu);
        bool seen = false;
        for (const XmlElement& child :
             node.gpu ? node.gpu->children() : std::vector<XmlElement>()) {
            if (!child.is("c2c")) continue;
            if (std::exchange(seen, true)) child.fail("a gpu has one c2c");
            const int count = child.integer("count", 1, TopologyLimits::count);
            const std::int64_t megabytes = child.integer("bw", 1, 100'000'000);
            const Bandwidth bandwidth = Bandwidth{1'000'000, 1'000'000} * (megabytes * count);
            const Link link = make_link(LinkKind::chip_to_chip, count, bandwidth);
            connect(child, place(gpu), place(root_of(gpu)), read_links(child, both_ways(link)));
        }
    }

    void add_tree_links(int index) {
        const TreeNode& node = tree_node(tree_, index);
        if (node.parent >= 0) connect(node.element, place(index), place(node.parent), node.up);
        for (const int child : node.children) add_tree_links(child);
    }

    void add_switch_links(int index) {
        const TreeNode& node = tree_node(tree_, index);
        if (node.node.type == NodeType::network_switch) {
            for (const XmlElement& child : node.element.children()) {
                if (child.is("pcilink")) add_switch_link(child, index);
            }
        }
        for (const int child : node.children) add_switch_links(child);
    }

    void add_switch_link(const XmlElement& element, int index) {
        const PciAddress address(tree_node(tree_, index).node.host, element.bus_id("target"));
        const auto found = tree_.by_address.find(address);
        if (found == tree_.by_address.end()) return;
        int remote = found->second;
        while (tree_node(tree_, remote).folded_into >= 0) {
            remote = tree_node(tree_, remote).folded_into;
        }
        if (tree_node(tree_, remote).node.type != NodeType::network_switch || remote == index)
            return;
        const LinkPair pair{make_link(LinkKind::pci, 1, local_bandwidth), std::nullopt};
        connect(element, place(index), place(remote), read_links(element, pair));
    }

    void add_inter_socket(int from) {
        const TreeNode& cpu = tree_node(tree_, from);
        const CpuInfo facts{.arch = cpu.element.text("arch"),
                            .vendor = cpu.element.text_or("vendor", ""),
                            .family = cpu.element.optional_integer("familyid"),
                            .model = cpu.element.optional_integer("modelid")};
        const Link usual = make_link(LinkKind::inter_socket, 1, inter_socket_bandwidth(facts));
        const auto unusual = read_socket_links(cpu.element);
        for (const int to : tree_.roots) {
            if (from == to || tree_node(tree_, to).node.host != cpu.node.host) continue;
            LinkPair pair{usual, std::nullopt};
            if (unusual) {
                const auto found = unusual->find(tree_node(tree_, to).element.text("numaid"));
                pair.there = found == unusual->end() ? std::nullopt : std::optional(found->second);
            }
            connect(cpu.element, place(from), place(to), pair);
        }
    }

    const Tree& tree_;
    GraphParts& graph_;
    std::map<std::tuple<int, int, LinkKind>, std::size_t> known_;
    std::size_t sorted_ = 0;
};

}  // namespace

void add_nvswitches(const Tree& tree, GraphParts& graph) {
    for (const int gpu : graph.gpus) {
        const TreeNode& node = tree_node(tree, gpu);
        for (const XmlElement& child :
             node.gpu ? node.gpu->children() : std::vector<XmlElement>()) {
            if (!leads_to_nvswitch(child)) continue;
            const int place = static_cast<int>(graph.nodes.size());
            if (!graph.nvswitches.emplace(nvswitch_id(child), place).second) continue;
            graph.nodes.push_back({.id = nvswitch_id(child),
                                   .type = NodeType::network_switch,
                                   .host = node.node.host});
        }
    }
}

void add_links(const Tree& tree, GraphParts& graph) {
    LinkReader(tree, graph).run();
}

}  // namespace rondo
