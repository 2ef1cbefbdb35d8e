// Collectives with axes for nvbench: ranks, bytes, strategy.
//   rondo-nvbench [--json FILE] [--benchmark NAME]
// A collective runs on several GPUs, and nvbench times streams of one: so the host's time from call
// to end is measured, on GPUs and on virtual ones alike. Where nvbench sees no device (the wheel
// has NVIDIA's runtime inside, which needs a driver), it runs without any.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>

#include <nvbench/benchmark_manager.cuh>
#include <nvbench/json_printer.cuh>
#include <nvbench/markdown_printer.cuh>
#include <nvbench/nvbench.cuh>
#include <nvbench/printer_multiplex.cuh>

#include "rondo/communicator.hpp"

namespace {

using namespace rondo;

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
    state.set_cuda_stream(nvbench::cuda_stream{nullptr, false});
    state.exec(nvbench::exec_tag::no_gpu,
               [&](nvbench::launch&) { call(setting.communicator, inputs, outputs).wait(); });
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

void add_axes(nvbench::benchmark_base& benchmark) {
    benchmark.set_is_cpu_only(true);
    benchmark.add_int64_axis("Ranks", {2, 8});
    benchmark.add_int64_axis("Bytes", {4096, 1 << 20, 16 << 20});
    benchmark.add_string_axis("Strategy", {"automatic", "ring"});
}

int run_all(const std::vector<std::string>& arguments) {
    nvbench::printer_multiplex printer;
    printer.emplace<nvbench::markdown_printer>(std::cout, "stdout");
    std::ofstream json;
    std::string only;
    for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
        if (arguments[i] == "--json") {
            json.open(arguments[i + 1]);
            printer.emplace<nvbench::json_printer>(json, arguments[i + 1]);
        } else if (arguments[i] == "--benchmark") {
            only = arguments[i + 1];
        } else {
            std::fprintf(stderr, "usage: rondo-nvbench [--json FILE] [--benchmark NAME]\n");
            return 2;
        }
    }
    printer.log_argv(arguments);
    auto benchmarks = nvbench::benchmark_manager::get().clone_benchmarks();
    std::erase_if(benchmarks,
                  [&](const auto& b) { return !only.empty() && b->get_name() != only; });
    for (const auto& benchmark : benchmarks) {
        benchmark->set_devices(std::vector<int>());
        add_axes(*benchmark);
        benchmark->set_printer(printer);
        benchmark->run();
        benchmark->clear_printer();
    }
    printer.print_benchmark_results(benchmarks);
    return 0;
}

NVBENCH_BENCH(all_reduce);
NVBENCH_BENCH(reduce_scatter);
NVBENCH_BENCH(all_gather);

}  // namespace

int main(int argc, char** argv) {
    if (RONDO_BENCH_VIRTUAL) setenv("VGPU_TOPOLOGY", "8", 0);
    try {
        return run_all(std::vector<std::string>(argv, argv + argc));
    } catch (const std::exception& error) {
        std::fprintf(stderr,
                     "rondo-nvbench: %s\nThis nvbench asks NVIDIA's driver; its tables of results "
                     "need a GPU.\n",
                     error.what());
        return 1;
    }
}
