// The gpu element of NCCL's file, with its NVLink, XGMI and C2C links.
#include <algorithm>

#include "topology/xml/export_context.hpp"
#include "topology/xml/rules.hpp"

namespace rondo {
namespace {

/// What NCCL itself writes where it does not know the other end.
constexpr const char* unknown_target = "fffffff:ffff:ff";

class GpuWriter {
public:
    GpuWriter(XmlWriter& writer, const ExportContext& context, int gpu)
        : writer_(writer), context_(context), gpu_(gpu), info_(context.node(gpu).gpu) {}

    void run() {
        writer_.open("gpu", attributes());
        for (const Link& link : context_.topology().links()) write_fabric_link(link);
        write_c2c();
        writer_.close();
    }

private:
    XmlAttributes attributes() const {
        const int number = gpu_number();
        const RankInfo rank = info_.rank.value_or(RankInfo{.rank = number});
        ImpliedWords implied;
        XmlAttributes result{{"dev", std::to_string(context_.numbers().device(gpu_))}};
        if (info_.compute_major > 0) {
            add_integer(result, "sm", info_.compute_major * 10 + info_.compute_minor);
        } else if (!rank.gcn.empty()) {
            if (!rank.sm) implied.add("sm");
            add_integer(result, "sm", rank.sm.value_or(0));
        }
        add_text(result, "gcn", rank.gcn);
        add_text(result, "arch", rank.arch);
        if (context_.ranked()) add_integer(result, "rank", rank.rank);
        add_integer(result, "gdr", rank.gpu_direct ? 1 : 0);
        implied.write(result);
        add_text(result, extension::model, info_.model);
        if (info_.memory_bytes > 0) {
            result.emplace_back(extension::memory, std::to_string(info_.memory_bytes));
        }
        const std::string& id = context_.node(gpu_).id;
        if (id != "gpu" + std::to_string(place_for_reader())) {
            result.emplace_back(extension::id, id);
        }
        return result;
    }

    /// The reader sorts GPUs by machine and device number.
    int place_for_reader() const {
        const auto key = [this](int index) {
            return std::pair(context_.node(index).host, context_.numbers().device(index));
        };
        int place = 0;
        for (int gpu = 0; gpu < context_.topology().gpu_count(); ++gpu) {
            place += key(context_.topology().gpu_node(gpu)) < key(gpu_);
        }
        return place;
    }

    int gpu_number() const {
        int number = 0;
        while (context_.topology().gpu_node(number) != gpu_) ++number;
        return number;
    }

    /// Links to other GPUs are written where they start; those to a switch or to the CPU have one
    /// element for both directions.
    void write_fabric_link(const Link& link) {
        if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) return;
        const bool starts_here = link.source == gpu_;
        const bool only_ends_here =
            link.target == gpu_ && !context_.link(gpu_, link.source, link.kind);
        if (!starts_here && !only_ends_here) return;
        const int peer = starts_here ? link.target : link.source;
        const Node& other = context_.node(peer);
        const bool to_cpu = context_.root_cpu(gpu_) == peer;
        if (other.type == NodeType::gpu) {
            if (starts_here && other.host == context_.node(gpu_).host) write_peer_link(link);
        } else if (link.kind == LinkKind::nvlink && (to_cpu || context_.is_nvswitch(peer))) {
            write_link_pair(link, peer);
        }
    }

    Link usual(const Link& link) const {
        const Bandwidth one =
            link.kind == LinkKind::xgmi
                ? xgmi_bandwidth(info_.rank ? info_.rank->gcn : "")
                : nvlink_bandwidth(info_.compute_major * 10 + info_.compute_minor);
        return make_link(link.kind, link.count, one * link.count);
    }

    void write_peer_link(const Link& link) {
        const auto& pci = context_.node(link.target).pci;
        const bool fitting = pci && pci_class(pci->device_class) == PciClass::gpu;
        XmlAttributes result{{"target", context_.numbers().bus_id(link.target)},
                             {"count", std::to_string(link.count)},
                             {"tclass", fitting ? pci->device_class : "0x030200"}};
        add_unusual_links(result, {link, std::nullopt}, {usual(link), std::nullopt});
        writer_.open(link.kind == LinkKind::xgmi ? "xgmi" : "nvlink", result);
        writer_.close();
    }

    void write_link_pair(const Link& link, int peer) {
        const Node& other = context_.node(peer);
        const bool to_cpu = other.type == NodeType::cpu;
        XmlAttributes result{{"target", unknown_target},
                             {"count", std::to_string(link.count)},
                             {"tclass", to_cpu ? "0x068001" : "0x068000"}};
        if (!to_cpu && other.id != "nvs") result.emplace_back(extension::network_switch, other.id);
        add_unusual_links(result, context_.links(gpu_, peer, link.kind), both_ways(usual(link)));
        writer_.open("nvlink", result);
        writer_.close();
    }

    void write_c2c() {
        const auto cpu = context_.root_cpu(gpu_);
        if (!cpu) return;
        const LinkPair actual = context_.links(gpu_, *cpu, LinkKind::chip_to_chip);
        if (!actual.there && !actual.back) return;
        const Link& known = actual.there ? *actual.there : *actual.back;
        const std::int64_t megabytes =
            std::max<std::int64_t>(1, known.nccl / 1'000'000 / known.count);
        XmlAttributes result{{"bw", std::to_string(megabytes)},
                             {"count", std::to_string(known.count)}};
        const Bandwidth bandwidth = Bandwidth{1'000'000, 1'000'000} * (megabytes * known.count);
        add_unusual_links(result, actual,
                          both_ways(make_link(LinkKind::chip_to_chip, known.count, bandwidth)));
        writer_.open("c2c", result);
        writer_.close();
    }

    XmlWriter& writer_;
    const ExportContext& context_;
    int gpu_;
    const GpuInfo& info_;
};

}  // namespace

void write_gpu_element(XmlWriter& writer, const ExportContext& context, int index) {
    GpuWriter(writer, context, index).run();
}

}  // namespace rondo
