// NVLinks: those that NVML lists, or what CUDA lets one guess.
#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/assemble.hpp"

namespace rondo::detection {
namespace {

/// All NVLinks of a data centre GPU.
int links_of_generation(int sm) {
    if (sm >= 90) return 18;
    if (sm >= 80) return 12;
    return sm >= 70 ? 6 : 4;
}

/// The generation of GPU that has NVLinks of a version, where CUDA does not tell.
int sm_of_version(int version) {
    // nvmlNvlinkVersion_t: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 from 1 on.
    constexpr int generations[] = {0, 60, 70, 70, 80, 80, 90, 100};
    return version >= 1 && version <= 7 ? generations[version] : 0;
}

std::string pair_name(const Graph& graph, int a, int b) {
    return graph.id(a) + " - " + graph.id(b);
}

class Fabric {
public:
    Fabric(Graph& graph, const Sources& sources, FactLog& log)
        : graph_(graph), sources_(sources), log_(log) {}

    void run() {
        if (std::ranges::all_of(graph_.nodes.begin(), graph_.nodes.begin() + graph_.gpus,
                                is_in_host_memory)) {
            add_host_memory();
        } else if (!sources_.nvml.gpus.empty()) {
            for (const NvmlGpu& gpu : sources_.nvml.gpus) add_listed(gpu);
        } else if (graph_.gpus > 1) {
            guess();
        }
    }

private:
    int sm(int gpu) const {
        const GpuInfo& info = graph_.nodes[gpu].gpu;
        return info.compute_major * 10 + info.compute_minor;
    }

    void add_host_memory() {
        const Link like = make_host_topology(1).links().front();
        const int memory = graph_.add({.id = "memory", .type = NodeType::network_switch});
        for (int gpu = 0; gpu < graph_.gpus; ++gpu) {
            graph_.connect(gpu, memory, LinkKind::memory, 1, {like.nominal, like.nccl});
            log_.add(graph_.id(gpu), "lives in", "host memory", FactSource::cuda);
        }
    }

    int nvswitch() {
        if (nvswitch_ < 0) {
            nvswitch_ = graph_.add({.id = "nvs", .type = NodeType::network_switch});
        }
        return nvswitch_;
    }

    /// The node at the other end, or -1: a GPU that this program does not see.
    int end_of(int gpu, const Nvlink& link) {
        const int peer = graph_.find_gpu(link.bus_id);
        if (peer >= 0) return peer == gpu ? -1 : peer;
        if (link.end == NvlinkEnd::gpu) return -1;
        if (link.end == NvlinkEnd::cpu) return cpu_above(gpu);
        return nvswitch();  // also where the other end is hidden, as NCCL does
    }

    int cpu_above(int node) const {
        for (int steps = 0; steps < 64 && graph_.nodes[node].type != NodeType::cpu; ++steps) {
            const auto up = std::ranges::find_if(graph_.links, [&](const Link& link) {
                return link.kind == LinkKind::pci && link.target == node;
            });
            if (up == graph_.links.end()) return -1;
            node = up->source;
        }
        return node;
    }

    void add_listed(const NvmlGpu& listed) {
        const int gpu = graph_.find_gpu(listed.bus_id);
        if (gpu < 0) return;
        std::map<int, int> counts;
        int elsewhere = 0;
        for (const Nvlink& link : listed.links) {
            const int end = end_of(gpu, link);
            end < 0 ? ++elsewhere : ++counts[end];
        }
        if (listed.links_down > 0) {
            log_.warn(
                fmt::format("{} of the NVLinks of {} are down", listed.links_down, graph_.id(gpu)));
        }
        if (elsewhere > 0) {
            log_.add(graph_.id(gpu), "NVLinks to GPUs that this program does not see",
                     fmt::format("{}", elsewhere), FactSource::nvml);
        }
        const int version = listed.links.empty() ? 0 : listed.links.front().version;
        const int generation = sm(gpu) > 0 ? sm(gpu) : sm_of_version(version);
        for (const auto& [end, count] : counts) add_bundle(gpu, end, count, generation);
    }

    /// A GPU lists its own direction; a switch or CPU lists nothing.
    void add_bundle(int gpu, int end, int count, int generation) {
        const Bandwidth bandwidth = nvlink_bandwidth(generation) * count;
        const std::size_t before = graph_.links.size();
        graph_.connect(gpu, end, LinkKind::nvlink, count, bandwidth);
        if (end < graph_.gpus) graph_.links.resize(before + 1);
        const std::string name = pair_name(graph_, gpu, end);
        log_.add(name, "NVLinks", fmt::format("{}", count), FactSource::nvml);
        log_.add(name, "bandwidth",
                 fmt::format("{:g} GB/s", static_cast<double>(bandwidth.nccl) / 1e9),
                 FactSource::estimate);
    }

    bool fast(int a, int b) const {
        return sources_.cuda.atomic(a, b) && sources_.cuda.atomic(b, a);
    }

    /// Atomic operations between GPUs mean NVLink. How many links there are is anybody's guess.
    void guess() {
        if (sources_.cuda.gpus.empty()) {
            log_.warn("neither NVML nor CUDA answers: NVLinks, if any, are unknown");
            return;
        }
        int most = 0;
        bool complete = true;
        for (int a = 0; a < graph_.gpus; ++a) {
            int partners = 0;
            for (int b = 0; b < graph_.gpus; ++b) partners += a != b && fast(a, b) ? 1 : 0;
            most = std::max(most, partners);
            complete = complete && partners == graph_.gpus - 1;
        }
        if (most == 0) return;
        log_.warn(fmt::format(
            "NVML does not answer ({}): NVLinks are guessed from what CUDA says about peers",
            sources_.nvml.problem));
        constexpr int fewest_with_switch = 8;
        if (complete && graph_.gpus >= fewest_with_switch) {
            for (int gpu = 0; gpu < graph_.gpus; ++gpu) {
                add_guess(gpu, nvswitch(), links_of_generation(sm(gpu)));
            }
            return;
        }
        for (int a = 0; a < graph_.gpus; ++a) {
            for (int b = a + 1; b < graph_.gpus; ++b) {
                const int all = std::min(links_of_generation(sm(a)), links_of_generation(sm(b)));
                if (fast(a, b)) add_guess(a, b, std::max(1, all / most));
            }
        }
    }

    void add_guess(int a, int b, int count) {
        graph_.connect(a, b, LinkKind::nvlink, count, nvlink_bandwidth(sm(a)) * count);
        log_.add(pair_name(graph_, a, b), "joined by NVLink", "yes", FactSource::cuda);
        log_.add(pair_name(graph_, a, b), "NVLinks", fmt::format("{}", count),
                 FactSource::estimate);
    }

    Graph& graph_;
    const Sources& sources_;
    FactLog& log_;
    int nvswitch_ = -1;
};

}  // namespace

void add_fabric(Graph& graph, const Sources& sources, FactLog& log) {
    Fabric(graph, sources, log).run();
}

}  // namespace rondo::detection
