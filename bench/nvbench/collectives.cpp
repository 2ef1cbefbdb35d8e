// Collectives with axes for nvbench: ranks, bytes, strategy. A collective runs on several GPUs, and
// nvbench times streams of one: so the host's time from call to end is measured, on GPUs and on
// virtual ones alike.
#include <utility>
#include <vector>

#include "bench/nvbench/benchmarks.hpp"
#include "bench/nvbench/timing.hpp"
#include "rondo/communicator.hpp"

namespace rondo::bench {
namespace {

/// One communicator and the tensors of its ranks.
struct Setting {
    Communicator communicator;
    std::vector<Tensor<float>> inputs, outputs;

    static Setting make(int ranks, const Strategy& strategy, std::size_t input,
                        std::size_t output) {
        CommunicatorOptions options{.strategy = strategy};
        for (int device = 0; device < ranks; ++device) options.devices.push_back(device);
        Setting setting{Communicator::create(options), {}, {}};
        for (const int device : options.devices) {
            for (auto [tensors, count] :
                 {std::pair(&setting.inputs, input), {&setting.outputs, output}}) {
                tensors->push_back(Tensor<float>::allocate(device, count));
                cudaSetDevice(device);
                cudaMemset(tensors->back().data(), 0, count * sizeof(float));
            }
        }
        return setting;
    }
};

/// `call` returns the Work of one call; `part` is how much of the message a rank's input and output
/// hold.
template <class Call>
void time_collective(nvbench::state& state, double input_part, double output_part, Call call) {
    const int ranks = static_cast<int>(state.get_int64("Ranks"));
    const auto bytes = static_cast<std::size_t>(state.get_int64("Bytes"));
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < ranks) {
        state.skip("there are fewer devices");
        return;
    }
    const auto count = static_cast<double>(bytes / sizeof(float));
    Setting setting = Setting::make(ranks, parse_strategy(state.get_string("Strategy")),
                                    static_cast<std::size_t>(count * input_part),
                                    static_cast<std::size_t>(count * output_part));
    const PerReplica<const float> inputs{PerReplica<float>(setting.inputs)};
    const PerReplica<float> outputs(setting.outputs);
    state.add_element_count(bytes / sizeof(float));
    time_call(state, [&] { call(setting.communicator, inputs, outputs).wait(); });
}

void all_reduce(nvbench::state& state) {
    time_collective(state, 1, 1, [](Communicator& c, const auto& in, const auto& out) {
        return c.all_reduce(ReduceOp::sum, in, out);
    });
}

void reduce_scatter(nvbench::state& state) {
    const double part = 1.0 / static_cast<double>(state.get_int64("Ranks"));
    time_collective(state, 1, part, [](Communicator& c, const auto& in, const auto& out) {
        return c.reduce_scatter(ReduceOp::sum, in, out);
    });
}

void all_gather(nvbench::state& state) {
    const double part = 1.0 / static_cast<double>(state.get_int64("Ranks"));
    time_collective(state, part, 1, [](Communicator& c, const auto& in, const auto& out) {
        return c.all_gather(in, out);
    });
}

template <void (*body)(nvbench::state&)>
void add_collective(nvbench::benchmark_manager& manager, const char* name) {
    add_benchmark<body>(manager, name)
        .add_int64_axis("Ranks", {2, 8})
        .add_int64_axis("Bytes", {4096, 1 << 20, 16 << 20})
        .add_string_axis("Strategy", {"automatic", "ring"});
}

}  // namespace

void add_collectives(nvbench::benchmark_manager& manager) {
    add_collective<all_reduce>(manager, "all_reduce");
    add_collective<reduce_scatter>(manager, "reduce_scatter");
    add_collective<all_gather>(manager, "all_gather");
}

}  // namespace rondo::bench
