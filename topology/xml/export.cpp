// Writes NCCL's topology file.
#include <algorithm>
#include <map>

#include "topology/graph/error.hpp"
#include "topology/graph/units.hpp"
#include "topology/xml/difference.hpp"
#include "topology/xml/export_context.hpp"
#include "topology/xml/nccl_xml.hpp"
#include "topology/xml/rules.hpp"

namespace rondo {
namespace {

/// What a cpu element will say, and which words of it are made up.
struct CpuWords {
    CpuInfo info;
    ImpliedWords implied;
};

class Exporter {
public:
    explicit Exporter(const Topology& topology) : context_(topology), topology_(topology) {
        for (const ExportRoot& root : context_.tree().roots) cpus_.push_back(describe(root));
    }

    std::string run() {
        const bool amd = std::ranges::any_of(
            topology_.links(), [](const Link& link) { return link.kind == LinkKind::xgmi; });
        XmlAttributes attributes{{"version", amd ? "2" : "1"}};
        if (topology_.name() != unnamed) attributes.emplace_back("name", topology_.name());
        if (!topology_.pci_peer_access()) attributes.emplace_back(extension::pci_peer_access, "0");
        writer_.open("system", attributes);
        for (std::size_t root = 0; root < cpus_.size(); ++root) write_cpu(root);
        writer_.close();
        return writer_.take();
    }

private:
    /// The id, unless it is the one that the reader would give.
    void add_id(XmlAttributes& attributes, int index, const std::string& prefix) {
        const std::string usual = prefix + std::to_string(written_[prefix]++);
        const std::string& id = context_.node(index).id;
        if (id != usual) attributes.emplace_back(extension::id, id);
    }

    CpuWords describe(const ExportRoot& root) {
        CpuWords cpu;
        const bool known = root.cpu && context_.node(*root.cpu).cpu;
        if (!root.cpu) cpu.implied.add("node");
        if (known) {
            cpu.info = *context_.node(*root.cpu).cpu;
        } else {
            cpu.info = cpu_with_inter_socket_bandwidth(socket_bandwidth(root));
            cpu.info.numa_id = context_.numbers().take_numa_id(root.host);
            cpu.implied.add("numaid");
        }
        complete(cpu);
        if (cpu.info.host_hash.empty() && context_.several_hosts()) {
            cpu.info.host_hash =
                cpu.implied.or_made_up("host_hash", "", "0x" + std::to_string(root.host + 1));
        }
        return cpu;
    }

    /// NCCL asks for an architecture, on x86 for a vendor, of Intel for the model.
    static void complete(CpuWords& cpu) {
        CpuInfo& info = cpu.info;
        info.arch = cpu.implied.or_made_up("arch", info.arch, "x86_64");
        if (info.arch != "x86_64") return;
        info.vendor = cpu.implied.or_made_up("vendor", info.vendor, "GenuineIntel");
        if (info.vendor != "GenuineIntel") return;
        if (!info.family) cpu.implied.add("familyid");
        if (!info.model) cpu.implied.add("modelid");
        info.family = info.family.value_or(6);
        info.model = info.model.value_or(0x55);
    }

    std::int64_t socket_bandwidth(const ExportRoot& root) const {
        for (const Link& link : topology_.links()) {
            if (link.source == root.cpu && link.kind == LinkKind::inter_socket) return link.nccl;
        }
        return 0;
    }

    void write_cpu(std::size_t index) {
        const ExportRoot& root = context_.tree().roots[index];
        const CpuInfo& cpu = cpus_[index].info;
        XmlAttributes attributes{{"numaid", std::to_string(cpu.numa_id)}};
        add_text(attributes, "affinity", cpu.affinity);
        add_text(attributes, "arch", cpu.arch);
        add_text(attributes, "vendor", cpu.vendor);
        add_integer(attributes, "familyid", cpu.family);
        add_integer(attributes, "modelid", cpu.model);
        add_text(attributes, "host_hash", cpu.host_hash);
        const auto [seen, fresh] =
            host_hashes_.emplace(cpu.host_hash, static_cast<int>(host_hashes_.size()));
        if (seen->second != root.host) {
            attributes.emplace_back(extension::host, std::to_string(root.host));
        }
        cpus_[index].implied.write(attributes);
        if (root.cpu) {
            add_id(attributes, *root.cpu, "cpu");
            add_socket_links(attributes, index);
        }
        writer_.open("cpu", attributes);
        for (const int child : root.children) write_device(child);
        writer_.close();
    }

    void add_socket_links(XmlAttributes& attributes, std::size_t from) const {
        const auto& roots = context_.tree().roots;
        const Link usual =
            make_link(LinkKind::inter_socket, 1, inter_socket_bandwidth(cpus_[from].info));
        SocketLinks links;
        bool as_usual = true;
        for (std::size_t to = 0; to < roots.size(); ++to) {
            if (to == from || !roots[to].cpu || roots[to].host != roots[from].host) continue;
            const auto actual =
                context_.link(*roots[from].cpu, *roots[to].cpu, LinkKind::inter_socket);
            as_usual = as_usual && same_apart_from_endpoints(actual, usual);
            if (actual) links.emplace(std::to_string(cpus_[to].info.numa_id), *actual);
        }
        if (!as_usual) attributes.emplace_back(extension::sockets, encode_socket_links(links));
    }

    void write_device(int index) {
        switch (context_.node(index).type) {
            case NodeType::gpu:
                open_pci(index, usual_gpu_class(index));
                write_gpu_element(writer_, context_, index);
                writer_.close();
                break;
            case NodeType::network_switch:
                write_switch(index);
                break;
            case NodeType::nic:
                write_nic(index);
                break;
            case NodeType::cpu:
                break;  // only at the top
        }
    }

    const char* usual_gpu_class(int index) const {
        const auto& rank = context_.node(index).gpu.rank;
        return rank && !rank->gcn.empty() ? "0x038000" : "0x030200";
    }

    /// Opens the pci element of a GPU, switch or NIC. GPUs have their id in the gpu element.
    void open_pci(int index, const char* usual_class, const std::string& id_prefix = "") {
        const PciInfo pci = context_.node(index).pci.value_or(PciInfo{});
        const LinkPair up = context_.links_to_parent(index, LinkKind::pci);
        const PciLinkWords words = pci_words_for(up.there ? up.there->nccl : 0);
        ImpliedWords implied;
        if (ExportNumbers::own_bus_id(context_.node(index)).empty()) implied.add("busid");
        XmlAttributes attributes{{"busid", context_.numbers().bus_id(index)}};
        add_text(attributes, "class", implied.or_made_up("class", pci.device_class, usual_class));
        add_text(attributes, "vendor", pci.vendor);
        add_text(attributes, "device", pci.device);
        add_text(attributes, "subsystem_vendor", pci.subsystem_vendor);
        add_text(attributes, "subsystem_device", pci.subsystem_device);
        const std::string speed = implied.or_made_up("link_speed", pci.link_speed, words.speed);
        const int width = pci.link_width.value_or(words.width);
        if (!pci.link_width) implied.add("link_width");
        add_text(attributes, "link_speed", speed);
        add_integer(attributes, "link_width", width);
        implied.write(attributes);
        if (!id_prefix.empty()) add_id(attributes, index, id_prefix);
        if (context_.has_parent(index)) {
            const Link usual = make_link(LinkKind::pci, 1, pci_bandwidth(speed, width));
            add_unusual_links(attributes, up, both_ways(usual));
        }
        writer_.open("pci", attributes);
    }

    void write_switch(int index) {
        open_pci(index, "0x060400", "pci");
        for (const int child : context_.children(index)) write_device(child);
        for (const Link& link : topology_.links()) {
            if (link.source == index && is_cross_link(link)) write_cross_link(link);
        }
        writer_.close();
    }

    /// Between two PCI switches, beside the tree.
    bool is_cross_link(const Link& link) const {
        const Node& target = context_.node(link.target);
        return link.kind == LinkKind::pci && target.type == NodeType::network_switch &&
               context_.tree().holds(link.target) &&
               target.host == context_.node(link.source).host &&
               context_.parent(link.source) != link.target &&
               context_.parent(link.target) != link.source;
    }

    void write_cross_link(const Link& link) {
        XmlAttributes attributes{{"target", context_.numbers().bus_id(link.target)}};
        add_unusual_links(attributes, {link, std::nullopt},
                          {make_link(LinkKind::pci, 1, local_bandwidth), std::nullopt});
        writer_.open("pcilink", attributes);
        writer_.close();
    }

    void write_nic(int index) {
        const int parent = context_.parent(index);
        const bool below_cpu = parent < 0 || context_.node(parent).type == NodeType::cpu;
        if (!below_cpu || context_.node(index).pci) {
            open_pci(index, "0x020000", "nic");
            write_ports(index, {});
            writer_.close();
            return;
        }
        XmlAttributes attributes;
        add_id(attributes, index, "nic");
        if (context_.has_parent(index)) {
            add_unusual_links(attributes, context_.links_to_parent(index, LinkKind::pci),
                              both_ways(make_link(LinkKind::pci, 1, local_bandwidth)));
        }
        write_ports(index, attributes);
    }

    void write_ports(int nic, const XmlAttributes& nic_attributes) {
        writer_.open("nic", nic_attributes);
        for (const int port : context_.children(nic)) {
            writer_.open("net", port_attributes(port));
            writer_.close();
        }
        writer_.close();
    }

    XmlAttributes port_attributes(int index) {
        const NetInfo& net = *context_.node(index).net;
        const LinkPair up = context_.links_to_parent(index, LinkKind::network);
        const Link& known = up.there ? *up.there : *up.back;
        const auto megabits = std::clamp<std::int64_t>(known.nccl / 125'000, 1, 1 << 30);
        Link usual = make_link(LinkKind::network, 1, net_bandwidth(static_cast<int>(megabits)));
        usual.latency_us = known.latency_us;
        XmlAttributes attributes;
        add_text(attributes, "name", net.name);
        add_integer(attributes, "dev", net.device);
        attributes.emplace_back("speed", std::to_string(megabits));
        add_integer(attributes, "port", net.port);
        if (usual.latency_us) attributes.emplace_back("latency", shortest(*usual.latency_us));
        add_text(attributes, "guid", net.guid);
        add_integer(attributes, "maxconn", net.max_connections);
        add_integer(attributes, "gdr", net.gpu_direct);
        add_integer(attributes, "coll", net.collectives);
        add_integer(attributes, "gin", net.gin);
        add_integer(attributes, "rma", net.rma);
        add_integer(attributes, "rail", net.rail);
        add_integer(attributes, "plane", net.plane);
        add_id(attributes, index, "net");
        add_unusual_links(attributes, up, both_ways(usual));
        return attributes;
    }

    ExportContext context_;
    const Topology& topology_;
    std::vector<CpuWords> cpus_;  ///< one per root
    XmlWriter writer_;
    std::map<std::string, int> written_;  ///< how many ids of each prefix the reader has given
    std::map<std::string, int> host_hashes_;
};

Topology read_back(const std::string& text) {
    try {
        return topology_from_nccl_xml(text);
    } catch (const TopologyError& error) {
        throw TopologyError(std::string("NCCL's XML cannot hold this topology: ") + error.what());
    }
}

}  // namespace

NcclXml export_nccl_xml(const Topology& topology) {
    NcclXml result;
    result.text = Exporter(topology).run();
    result.left_out = find_losses(topology, read_back(result.text));
    return result;
}

std::string topology_to_nccl_xml(const Topology& topology) {
    return export_nccl_xml(topology).text;
}

}  // namespace rondo
