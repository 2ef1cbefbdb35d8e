// Puts the GPUs, the PCI tree, the NICs and the sockets together.
#include "topology/detect/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "topology/graph/validate.hpp"

namespace rondo::detection {
namespace {

constexpr const char* nvidia = "0x10de";

/// "16.0 GT/s PCIe x16"
std::string link_words(const PciInfo& info) {
    return fmt::format("{} x{}", info.link_speed, info.link_width.value_or(16));
}

/// The kernel's spelling for a generation; empty for an unknown one.
std::string speed_of_generation(int generation) {
    constexpr const char* speeds[] = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
    if (generation < 1 || generation > 6) return "";
    return fmt::format("{} GT/s PCIe", speeds[generation - 1]);
}

class Assembly {
public:
    Assembly(const Sources& sources, FactLog& log) : sources_(sources), log_(log) {}

    Graph run() {
        add_gpus();
        for (int gpu = 0; gpu < graph_.gpus; ++gpu) attach_gpu(gpu);
        if (hidden_ > 0) {
            log_.warn(fmt::format(
                "the PCI tree of {} of {} GPUs is hidden, as in containers and virtual machines: "
                "they are taken to hang below one CPU with PCI Express 3.0 x16 unless NVML knows "
                "better",
                hidden_, graph_.gpus));
        }
        if (graph_.gpus > 0) add_nics();
        connect_sockets();
        return std::move(graph_);
    }

private:
    void add_gpu(const std::string& bus_id, const std::string& name, FactSource source) {
        Node node{.id = fmt::format("gpu{}", graph_.gpus), .type = NodeType::gpu};
        // Bus ids may repeat in strange virtual machines; a topology can't hold that.
        if (is_bus_id(bus_id) && graph_.find_gpu(bus_id) < 0) node.gpu.bus_id = bus_id;
        if (name.size() <= TopologyLimits::text && is_printable(name)) node.gpu.model = name;
        log_.add(node.id, "bus id", bus_id, source);
        if (!name.empty()) log_.add(node.id, "model", name, source);
        graph_.add(std::move(node));
        ++graph_.gpus;
    }

    /// CUDA's order is what programs count by; without CUDA, NVML's, then that of the bus ids.
    void add_gpus() {
        for (const CudaGpu& gpu : sources_.cuda.gpus) {
            add_gpu(gpu.bus_id, gpu.name, FactSource::cuda);
            GpuInfo& info = graph_.nodes.back().gpu;
            info.compute_major = gpu.compute_major;
            info.compute_minor = gpu.compute_minor;
            info.memory_bytes = std::min(gpu.memory_bytes, TopologyLimits::memory_bytes);
            if (gpu.integrated) {
                info.costs = host_gpu_costs();
                log_.add(graph_.nodes.back().id, "memory", "that of the host", FactSource::cuda);
            }
            log_.add(graph_.nodes.back().id, "compute capability",
                     fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor), FactSource::cuda);
        }
        if (graph_.gpus > 0) return;
        for (const NvmlGpu& gpu : sources_.nvml.gpus) {
            add_gpu(gpu.bus_id, gpu.name, FactSource::nvml);
        }
        if (graph_.gpus > 0) return;
        for (const auto& [bus_id, device] : sources_.sysfs.devices) {
            if (pci_class(device.info.device_class) != PciClass::gpu) continue;
            if (device.info.vendor == nvidia) add_gpu(bus_id, "", FactSource::sysfs);
        }
    }

    void attach_gpu(int gpu) {
        if (is_in_host_memory(graph_.nodes[gpu])) return;
        const std::string bus_id = graph_.nodes[gpu].gpu.bus_id;
        const auto device = sources_.sysfs.devices.find(bus_id);
        if (bus_id.empty() || device == sources_.sysfs.devices.end()) {
            attach_hidden(gpu);
            return;
        }
        PciInfo info = device->second.info;
        info.bus_id.clear();
        graph_.nodes[gpu].pci = std::move(info);
        attach(gpu, device->second);
    }

    void attach_hidden(int gpu) {
        ++hidden_;
        PciInfo info;
        const auto known =
            std::ranges::find(sources_.nvml.gpus, graph_.nodes[gpu].gpu.bus_id, &NvmlGpu::bus_id);
        if (known != sources_.nvml.gpus.end() && known->pci_width > 0 && known->pci_width <= 32) {
            info.link_speed = speed_of_generation(known->pci_generation);
            info.link_width = known->pci_width;
        }
        const bool told = !info.link_speed.empty();
        if (told) graph_.nodes[gpu].pci = info;
        log_.add(graph_.id(gpu), "PCI link", told ? link_words(info) : "8.0 GT/s PCIe x16",
                 told ? FactSource::nvml : FactSource::estimate);
        const int cpu = cpu_node(-1);
        log_.add(graph_.id(gpu), "is below", graph_.id(cpu), FactSource::estimate);
        graph_.connect(cpu, gpu, LinkKind::pci, 1,
                       pci_bandwidth(info.link_speed, info.link_width.value_or(0)));
    }

    /// The bridge right above a device is the other half of its slot; the one above that is a
    /// switch, or there is none and the device hangs on the CPU. As NCCL reads the path.
    void attach(int node, const PciDevice& device) {
        const std::size_t bridges = device.above.size();
        const int parent = bridges >= 2 ? switch_node(device, bridges - 2)
                                        : cpu_node(domain_of(graph_.id(node), device));
        const bool told = !device.info.link_speed.empty();
        log_.add(graph_.id(node), "is below", graph_.id(parent), FactSource::sysfs);
        log_.add(graph_.id(node), "PCI link", told ? link_words(device.info) : "8.0 GT/s PCIe x16",
                 told ? FactSource::sysfs : FactSource::estimate);
        graph_.connect(parent, node, LinkKind::pci, 1,
                       pci_bandwidth(device.info.link_speed, device.info.link_width.value_or(0)));
    }

    /// What the kernel says, else hwloc; -1 if neither knows.
    int domain_of(const std::string& id, const PciDevice& device) {
        if (device.numa >= 0) return device.numa;
        const auto known = sources_.hwloc.find(device.info.bus_id);
        if (known == sources_.hwloc.end()) return -1;
        log_.add(id, "NUMA domain", fmt::format("{}", known->second), FactSource::hwloc);
        return known->second;
    }

    /// The switch whose bus id is number `place` among the bridges above the device.
    int switch_node(const PciDevice& below, std::size_t place) {
        const std::string& bus_id = below.above[place];
        if (const auto known = switches_.find(bus_id); known != switches_.end()) {
            return known->second;
        }
        PciDevice device;
        const auto shown = sources_.sysfs.devices.find(bus_id);
        if (shown != sources_.sysfs.devices.end()) device = shown->second;
        device.info.bus_id = bus_id;
        device.above.assign(below.above.begin(), below.above.begin() + place);
        if (device.numa < 0) device.numa = below.numa;
        // Broadcom's switches show two levels of one crossbar.
        if (place >= 2) {
            const int upper = switch_node(device, place - 2);
            if (graph_.nodes[upper].pci &&
                is_same_crossbar(*graph_.nodes[upper].pci, device.info)) {
                return switches_[bus_id] = upper;
            }
        }
        Node node{.id = fmt::format("pci{}", pci_switches_++), .type = NodeType::network_switch};
        node.pci = device.info;
        const int index = graph_.add(std::move(node));
        switches_[bus_id] = index;
        attach(index, device);
        return index;
    }

    /// The CPU of a NUMA domain; -1 means the only one, or one of its own if there are several.
    int cpu_node(int numa) {
        const auto& cpus = sources_.sysfs.cpus;
        if (numa < 0 && cpus.size() == 1) numa = cpus.begin()->first;
        if (const auto known = cpus_.find(numa); known != cpus_.end()) return known->second;
        Node node{.id = fmt::format("cpu{}", cpus_.size()), .type = NodeType::cpu};
        const auto told = cpus.find(numa);
        if (told != cpus.end()) {
            node.cpu = told->second;
            log_.add(node.id, "NUMA domain", fmt::format("{}", numa), FactSource::sysfs);
        } else {
            if (!cpus.empty()) node.cpu = cpus.begin()->second;
            if (!node.cpu) node.cpu.emplace();
            node.cpu->numa_id = numa;
            node.cpu->affinity.clear();
            log_.add(node.id, "NUMA domain", "unknown", FactSource::estimate);
        }
        if (node.cpu->affinity.size() > TopologyLimits::text) node.cpu->affinity.clear();
        return cpus_[numa] = graph_.add(std::move(node));
    }

    void add_nics() {
        int ports = 0;
        for (const Nic& nic : sources_.sysfs.nics) {
            const PciDevice& device = sources_.sysfs.devices.at(nic.bus_id);
            Node node{.id = fmt::format("nic{}", nics_++), .type = NodeType::nic};
            node.pci = device.info;
            const int index = graph_.add(std::move(node));
            attach(index, device);
            for (const NicPort& port : nic.ports) add_port(index, port, ports++);
        }
    }

    void add_port(int nic, const NicPort& port, int number) {
        Node node{.id = fmt::format("net{}", number), .type = NodeType::nic};
        node.net = port.net;
        const bool told = port.megabits_per_second > 0;
        log_.add(node.id, "speed",
                 fmt::format("{} Mbit/s", told ? port.megabits_per_second : 10'000),
                 told ? FactSource::sysfs : FactSource::estimate);
        const int index = graph_.add(std::move(node));
        graph_.connect(nic, index, LinkKind::network, 1, net_bandwidth(port.megabits_per_second));
    }

    void connect_sockets() {
        for (auto a = cpus_.begin(); a != cpus_.end(); ++a) {
            for (auto b = std::next(a); b != cpus_.end(); ++b) {
                const CpuInfo& cpu = *graph_.nodes[a->second].cpu;
                // Without a name NCCL would assume no limit at all; the slowest is safer.
                const Bandwidth bandwidth = cpu.arch.empty()
                                                ? inter_socket_bandwidth({.arch = "arm64"})
                                                : inter_socket_bandwidth(cpu);
                graph_.connect(a->second, b->second, LinkKind::inter_socket, 1, bandwidth);
                log_.add(graph_.id(a->second) + " - " + graph_.id(b->second), "bandwidth",
                         fmt::format("{:g} GB/s", static_cast<double>(bandwidth.nccl) / 1e9),
                         FactSource::estimate);
            }
        }
    }

    const Sources& sources_;
    FactLog& log_;
    Graph graph_;
    std::map<std::string, int> switches_;  ///< nodes by bus id
    std::map<int, int> cpus_;              ///< nodes by NUMA domain
    int pci_switches_ = 0;
    int nics_ = 0;
    int hidden_ = 0;
};

}  // namespace

bool is_in_host_memory(const Node& gpu) {
    return gpu.gpu.costs.has_value();
}

int Graph::add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<int>(nodes.size()) - 1;
}

void Graph::connect(int a, int b, LinkKind kind, int count, Bandwidth bandwidth) {
    for (const auto& [source, target] : {std::pair(a, b), std::pair(b, a)}) {
        links.push_back({.source = source,
                         .target = target,
                         .kind = kind,
                         .count = count,
                         .nominal = bandwidth.nominal,
                         .nccl = bandwidth.nccl});
    }
}

int Graph::find_gpu(const std::string& bus_id) const {
    for (int gpu = 0; gpu < gpus; ++gpu) {
        if (nodes[gpu].gpu.bus_id == bus_id) return gpu;
    }
    return -1;
}

Graph assemble(const Sources& sources, FactLog& log) {
    return Assembly(sources, log).run();
}

}  // namespace rondo::detection
