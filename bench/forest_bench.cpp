// How long forest synthesis takes: allocations of a DGX-1V, the presets, and machines of 72 GPUs.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "topology/forest/analysis.hpp"
#include "topology/forest/forest.hpp"
#include "topology/forest/pack.hpp"

namespace {

using rondo::ForestRequest;
using rondo::LinkKind;
using rondo::Topology;

/// Bytes per second of a bundle: by the standard and by NCCL's model.
struct Bandwidth {
    std::int64_t nominal = 0;
    std::int64_t nccl = 0;
};

constexpr Bandwidth nvlink_port{300'000'000'000, 240'000'000'000};
constexpr Bandwidth pci_gen4{31'508'000'000, 24'000'000'000};
constexpr Bandwidth hdr_port{25'000'000'000, 25'000'000'000};
constexpr Bandwidth nvlink5{50'000'000'000, 40'100'000'000};

class MachineBuilder {
public:
    int add(const std::string& id, rondo::NodeType type) {
        nodes_.push_back({.id = id, .type = type, .gpu = {}});
        return static_cast<int>(nodes_.size()) - 1;
    }
    void connect(int a, int b, LinkKind kind, Bandwidth bandwidth) {
        for (const auto& [source, target] : {std::pair{a, b}, std::pair{b, a}}) {
            links_.push_back({.source = source,
                              .target = target,
                              .kind = kind,
                              .count = 1,
                              .nominal = bandwidth.nominal,
                              .nccl = bandwidth.nccl,
                              .latency_us = {}});
        }
    }
    Topology build(const std::string& name) { return Topology(name, nodes_, links_); }

private:
    std::vector<rondo::Node> nodes_;
    std::vector<rondo::Link> links_;
};

/// Nodes of eight GPUs, each with a NIC of its own, around one network switch.
Topology dgx_a100_nodes(int count) {
    MachineBuilder machine;
    const int network = machine.add("ib", rondo::NodeType::network_switch);
    for (int node = 0; node < count; ++node) {
        const int nvswitch =
            machine.add("nvs" + std::to_string(node), rondo::NodeType::network_switch);
        for (int i = 0; i < 8; ++i) {
            const std::string number = std::to_string(8 * node + i);
            const int gpu = machine.add("gpu" + number, rondo::NodeType::gpu);
            const int nic = machine.add("nic" + number, rondo::NodeType::nic);
            machine.connect(gpu, nvswitch, LinkKind::nvlink, nvlink_port);
            machine.connect(gpu, nic, LinkKind::pci, pci_gen4);
            machine.connect(nic, network, LinkKind::network, hdr_port);
        }
    }
    return machine.build("dgx_a100_x" + std::to_string(count));
}

/// GB200 NVL72 with its 18 switches apart: one NVLink from every GPU to each.
Topology nvl72_planes() {
    MachineBuilder machine;
    for (int gpu = 0; gpu < 72; ++gpu)
        machine.add("gpu" + std::to_string(gpu), rondo::NodeType::gpu);
    for (int plane = 0; plane < 18; ++plane) {
        const int nvswitch =
            machine.add("nvs" + std::to_string(plane), rondo::NodeType::network_switch);
        for (int gpu = 0; gpu < 72; ++gpu)
            machine.connect(gpu, nvswitch, LinkKind::nvlink, nvlink5);
    }
    return machine.build("gb200_nvl72_18sw");
}

void report(benchmark::State& state, const rondo::Forest& forest) {
    state.counters["GBps"] = forest.throughput.convert_to<double>() / 1e9;
    state.counters["trees"] = static_cast<double>(forest.trees.size());
    state.counters["depth"] = forest.depth;
}

void build(benchmark::State& state, const Topology& topology, const ForestRequest& request) {
    rondo::Forest forest;
    for (auto _ : state) forest = rondo::build_forest(topology, request);
    report(state, forest);
}

void bound(benchmark::State& state, const Topology& topology, const ForestRequest& request) {
    rondo::Bound result;
    for (auto _ : state) result = rondo::forest_bound(topology, request);
    state.counters["GBps"] = result.throughput.convert_to<double>() / 1e9;
}

/// One half of the work: with the linear program alone, or without it.
void pack(benchmark::State& state, const Topology& topology, bool by_program) {
    rondo::forest::Trees trees;
    for (auto _ : state) {
        const auto analysis = rondo::forest::analyse(topology, {});
        trees = by_program ? rondo::forest::pack_by_program(analysis, 8).value()
                           : rondo::forest::pack_by_search(analysis);
    }
    state.counters["trees"] = static_cast<double>(trees.size());
}

/// All allocations of three to eight GPUs that the links join; the time is that of one on average.
void dgx1_subsets(benchmark::State& state, rondo::LinkFilter links) {
    const Topology topology = rondo::load_topology("dgx1_v100");
    std::vector<ForestRequest> requests;
    for (unsigned set = 0; set < 256; ++set) {
        ForestRequest request{.links = links};
        for (int gpu = 0; gpu < 8; ++gpu) {
            if ((set >> gpu & 1) != 0) request.gpus.push_back(gpu);
        }
        if (request.gpus.size() < 3) continue;
        try {
            rondo::forest_bound(topology, request);
            requests.push_back(request);
        } catch (const rondo::ForestError&) {
        }
    }
    for (auto _ : state) {
        for (const ForestRequest& request : requests) {
            benchmark::DoNotOptimize(rondo::build_forest(topology, request));
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(requests.size()));
    state.counters["per_subset"] = benchmark::Counter(
        static_cast<double>(requests.size()),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void add(const std::string& name,
         void (*run)(benchmark::State&, const Topology&, const ForestRequest&),
         const Topology& topology, const ForestRequest& request) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        run(state, topology, request);
    })->Unit(benchmark::kMillisecond);
}

void add_pack(const std::string& name, const Topology& topology, bool by_program) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        pack(state, topology, by_program);
    })->Unit(benchmark::kMillisecond);
}

void add_all() {
    benchmark::RegisterBenchmark("forest/dgx1_v100_subsets", dgx1_subsets,
                                 rondo::LinkFilter::nvlink)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark("forest/dgx1_v100_subsets_with_pci", dgx1_subsets,
                                 rondo::LinkFilter::all)
        ->Unit(benchmark::kMillisecond);
    const std::vector<Topology> large{dgx_a100_nodes(9), nvl72_planes()};
    std::vector<Topology> machines;
    for (const std::string& preset : rondo::preset_names()) {
        machines.push_back(rondo::load_topology(preset));
    }
    machines.insert(machines.end(), large.begin(), large.end());
    for (const Topology& machine : machines) {
        add("bound/" + machine.name(), bound, machine, {});
        add("forest/" + machine.name(), build, machine, {});
        add("all_gather/" + machine.name(), build, machine,
            {.collective = rondo::ForestCollective::all_gather});
    }
    ForestRequest uneven;
    for (int gpu = 0; gpu < 72; ++gpu) {
        if (gpu % 8 <= gpu / 8) uneven.gpus.push_back(gpu);
    }
    add("bound/uneven_dgx_a100_x9", bound, large[0], uneven);
    add("forest/uneven_dgx_a100_x9", build, large[0], uneven);
    for (const char* preset : {"dgx2_v100", "mi250_16gcd", "dgx_a100_x2", "gb200_nvl72_1sw"}) {
        add_pack(std::string("search_alone/") + preset, rondo::load_topology(preset), false);
        add_pack(std::string("program_alone/") + preset, rondo::load_topology(preset), true);
    }
    add_pack("search_alone/dgx_a100_x9", large[0], false);
    add_pack("program_alone/dgx_a100_x9", large[0], true);
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    add_all();
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
