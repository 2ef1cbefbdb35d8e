// The first half of reading NCCL's file: the tree of CPUs, PCI switches, GPUs, NICs and ports.
#include "topology/xml/import_tree.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "topology/graph/names.hpp"
#include "topology/graph/validate.hpp"
#include "topology/xml/rules.hpp"

namespace rondo {
namespace {

constexpr int largest = std::numeric_limits<int>::max();

bool any_gpu_has_rank(const XmlElement& element) {
    if (element.is("gpu")) return element.has("rank");
    return std::ranges::any_of(element.children(), any_gpu_has_rank);
}

std::string known_text(const XmlElement& element, const char* attribute) {
    return is_implied(element, attribute) ? "" : element.text_or(attribute, "");
}

std::optional<int> known_integer(const XmlElement& element, const char* attribute) {
    return is_implied(element, attribute) ? std::nullopt : element.optional_integer(attribute);
}

class TreeReader {
public:
    explicit TreeReader(const XmlElement& system) : ranked_(any_gpu_has_rank(system)) {}

    Tree read(const XmlElement& system) {
        for (const XmlElement& child : system.children()) {
            if (child.is("cpu")) add_cpu(child);
        }
        if (!all_numbered_) number_in_order();
        return std::move(tree_);
    }

private:
    int add(TreeNode node) {
        const int index = static_cast<int>(tree_.nodes.size());
        if (tree_.nodes.size() > TopologyLimits::nodes)
            node.element.fail("there are too many nodes");
        auto& siblings = node.parent < 0 ? tree_.roots : at(node.parent).children;
        siblings.push_back(index);
        tree_.nodes.push_back(std::move(node));
        return index;
    }

    TreeNode& at(int index) { return tree_.nodes[static_cast<std::size_t>(index)]; }

    int host_of(const XmlElement& cpu) {
        const std::string hash = cpu.text_or("host_hash", "");
        const auto [found, fresh] = hosts_.emplace(hash, static_cast<int>(hosts_.size()));
        return cpu.integer_or(extension::host, 0, TopologyLimits::hosts - 1, found->second);
    }

    void add_cpu(const XmlElement& cpu) {
        const int numa_id = cpu.integer("numaid", -1, largest);
        check_cpu(cpu);
        CpuInfo info{.numa_id = numa_id,
                     .affinity = cpu.text_or("affinity", ""),
                     .arch = known_text(cpu, "arch"),
                     .vendor = known_text(cpu, "vendor"),
                     .family = known_integer(cpu, "familyid"),
                     .model = known_integer(cpu, "modelid"),
                     .host_hash = known_text(cpu, "host_hash")};
        const int host = host_of(cpu);
        if (!numa_ids_.emplace(host, numa_id).second) cpu.fail("numaid: it is there twice");
        TreeNode node{.node = {.type = NodeType::cpu, .host = host}, .element = cpu};
        node.implied = is_implied(cpu, "node");
        if (!is_implied(cpu, "numaid")) node.node.cpu = std::move(info);
        const int index = add(std::move(node));
        for (const XmlElement& child : cpu.children()) {
            if (child.is("pci")) add_pci(child, index);
            if (child.is("nic")) add_bare_nic(child, index);
        }
    }

    /// What NCCL requires.
    static void check_cpu(const XmlElement& cpu) {
        if (cpu.text("arch") != "x86_64") return;
        const bool intel = cpu.text("vendor") == "GenuineIntel";
        for (const char* attribute : {"familyid", "modelid"}) {
            if (intel && !cpu.has(attribute)) {
                cpu.fail("the attribute " + std::string(attribute) + " is missing");
            }
        }
    }

    void add_pci(const XmlElement& pci, int parent) {
        const PciClass device_class = pci_class(pci.text("class"));
        const auto gpu = pci.child("gpu");
        const auto nic = pci.child("nic");
        const bool counts = gpu && (!ranked_ || gpu->has("rank"));
        if (counts || (!gpu && !ranked_ && device_class == PciClass::gpu)) {
            add_gpu(pci, gpu, parent);
        } else if (!gpu && nic) {
            add_ports(*nic, add(pci_node(pci, NodeType::nic, parent)));
        } else if (!gpu && device_class == PciClass::pci_switch) {
            const int index = add(pci_node(pci, NodeType::network_switch, parent));
            for (const XmlElement& child : pci.children()) {
                if (child.is("pci")) add_pci(child, index);
            }
        }
    }

    TreeNode pci_node(const XmlElement& pci, NodeType type, int parent) {
        const std::string bus_id = pci.bus_id("busid");
        const int width = pci.integer("link_width", 0, 64);
        const std::string speed = pci.text("link_speed");
        PciInfo info{.bus_id = is_implied(pci, "busid") ? "" : bus_id,
                     .device_class = known_text(pci, "class"),
                     .vendor = pci.text_or("vendor", ""),
                     .device = pci.text_or("device", ""),
                     .subsystem_vendor = pci.text_or("subsystem_vendor", ""),
                     .subsystem_device = pci.text_or("subsystem_device", ""),
                     .link_speed = known_text(pci, "link_speed"),
                     .link_width = known_integer(pci, "link_width")};
        const int host = at(parent).node.host;
        const int index = static_cast<int>(tree_.nodes.size());
        if (!tree_.by_address.emplace(PciAddress(host, bus_id), index).second) {
            pci.fail("busid: it is there twice");
        }
        TreeNode node{.node = {.type = type, .host = host}, .element = pci, .parent = parent};
        node.up =
            read_links(pci, both_ways(make_link(LinkKind::pci, 1, pci_bandwidth(speed, width))));
        if (type == NodeType::gpu) node.node.gpu.bus_id = std::exchange(info.bus_id, "");
        if (info != PciInfo{}) node.node.pci = std::move(info);
        return node;
    }

    void add_gpu(const XmlElement& pci, const std::optional<XmlElement>& gpu, int parent) {
        TreeNode node = pci_node(pci, NodeType::gpu, parent);
        node.gpu = gpu;
        node.rank.rank = no_rank;
        all_numbered_ = all_numbered_ && gpu && gpu->has("dev");
        if (gpu) read_gpu(*gpu, node);
        if (ranked_ && !ranks_.insert(node.rank.rank).second) gpu->fail("rank: it is there twice");
        add(std::move(node));
    }

    void read_gpu(const XmlElement& gpu, TreeNode& node) {
        GpuInfo& info = node.node.gpu;
        info.model = gpu.text_or(extension::model, "");
        if (gpu.has(extension::memory)) info.memory_bytes = read_memory(gpu);
        RankInfo& rank = node.rank;
        if (ranked_ || gpu.has("dev")) rank.device = gpu.integer("dev", 0, largest);
        rank.rank = ranked_ ? gpu.integer("rank", 0, largest) : no_rank;
        rank.gpu_direct = gpu.integer_or("gdr", -1, largest, ranked_ ? 0 : 1) > 0;
        rank.gcn = gpu.text_or("gcn", "");
        rank.arch = gpu.text_or("arch", "");
        if (!ranked_ && !gpu.has("sm")) return;
        const int sm = gpu.integer("sm", rank.gcn.empty() ? 10 : 0, 999);
        if (rank.gcn.empty()) {
            info.compute_major = sm / 10;
            info.compute_minor = sm % 10;
        } else {
            rank.sm = is_implied(gpu, "sm") ? std::nullopt : std::optional(sm);
        }
    }

    /// Devices without numbers: a file that NCCL has yet to fill in. The order of the file counts.
    void number_in_order() {
        int device = 0;
        for (TreeNode& node : tree_.nodes) {
            if (node.node.type == NodeType::gpu) node.rank.device = device++;
        }
    }

    static std::uint64_t read_memory(const XmlElement& gpu) {
        const double bytes = gpu.number(extension::memory);
        if (bytes < 0 || bytes > static_cast<double>(TopologyLimits::memory_bytes)) {
            gpu.fail(extension::memory, "the memory size is out of range");
        }
        return static_cast<std::uint64_t>(bytes);
    }

    /// A NIC that hangs on the CPU without a PCI device, such as a virtual one.
    void add_bare_nic(const XmlElement& nic, int parent) {
        TreeNode node{.node = {.type = NodeType::nic, .host = at(parent).node.host},
                      .element = nic,
                      .parent = parent};
        node.up = read_links(nic, both_ways(make_link(LinkKind::pci, 1, local_bandwidth)));
        add_ports(nic, add(std::move(node)));
    }

    void add_ports(const XmlElement& nic, int parent) {
        for (const XmlElement& net : nic.children()) {
            if (!net.is("net") || !net.has("dev") || net.optional_integer("net") == 0) continue;
            TreeNode node{.node = {.type = NodeType::nic, .host = at(parent).node.host},
                          .element = net,
                          .parent = parent};
            node.node.net = read_port(net);
            const int speed = net.integer_or("speed", std::numeric_limits<int>::min(), largest, 0);
            Link link = make_link(LinkKind::network, 1, net_bandwidth(speed));
            if (net.has("latency")) link.latency_us = net.number("latency");
            node.up = read_links(net, both_ways(link));
            add(std::move(node));
        }
    }

    static NetInfo read_port(const XmlElement& net) {
        return {.device = net.integer("dev", 0, largest),
                .name = net.text_or("name", ""),
                .guid = net.text_or("guid", ""),
                .port = net.optional_integer("port"),
                .max_connections = net.optional_integer("maxconn"),
                .gpu_direct = net.optional_integer("gdr"),
                .collectives = net.optional_integer("coll"),
                .gin = net.optional_integer("gin"),
                .rma = net.optional_integer("rma"),
                .rail = net.optional_integer("rail"),
                .plane = net.optional_integer("plane")};
    }

    bool ranked_;
    Tree tree_;
    std::map<std::string, int> hosts_;
    std::set<std::pair<int, int>> numa_ids_;
    std::set<int> ranks_;
    bool all_numbered_ = true;
};

/// Puts the children of inner crossbar levels in the place of those levels, until none is left.
void flatten_crossbars(Tree& tree, int index) {
    const auto at = [&tree](int i) -> TreeNode& { return tree.nodes[static_cast<std::size_t>(i)]; };
    const auto inner = [&](int child) {
        return at(index).node.pci && at(child).node.type == NodeType::network_switch &&
               at(child).node.pci && is_same_crossbar(*at(index).node.pci, *at(child).node.pci);
    };
    std::vector<int>& children = at(index).children;
    for (std::size_t i = 0; i < children.size();) {
        const int child = children[i];
        if (!inner(child)) {
            ++i;
            continue;
        }
        const std::vector<int> moved = std::move(at(child).children);
        for (const int grandchild : moved) at(grandchild).parent = index;
        at(child).folded_into = index;
        at(child).children.clear();
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
        children.insert(children.begin() + static_cast<std::ptrdiff_t>(i), moved.begin(),
                        moved.end());
    }
}

}  // namespace

Tree read_tree(const XmlElement& system) {
    Tree tree = TreeReader(system).read(system);
    for (int index = 0; index < static_cast<int>(tree.nodes.size()); ++index) {
        flatten_crossbars(tree, index);
    }
    return tree;
}

}  // namespace rondo
