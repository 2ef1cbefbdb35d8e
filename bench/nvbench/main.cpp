// Kernels and collectives as nvbench benchmarks, with nvbench's own options:
//   rondo-nvbench --list
//   rondo-nvbench --benchmark all_reduce --axis Ranks=8 --json run.json
// nvbench-compare (nvbench-compare-robust in newer wheels) compares two such files.
#include <nvbench/main.cuh>

#include <cstdlib>

#include "bench/nvbench/benchmarks.hpp"

namespace {

/// On the first device, unless others are named: one after the other would say the same.
std::vector<std::string> with_device(std::vector<std::string> arguments) {
    for (const std::string& argument : arguments) {
        if (argument == "-d" || argument == "--device" || argument == "--devices") return arguments;
    }
    arguments.insert(arguments.begin() + 1, {"--devices", "0"});
    return arguments;
}

}  // namespace

int main(int argc, char** argv) {
    if (RONDO_BENCH_VIRTUAL) setenv("VGPU_TOPOLOGY", "8", 0);
    try {
        rondo::bench::add_kernels(nvbench::benchmark_manager::get());
        rondo::bench::add_collectives(nvbench::benchmark_manager::get());
        nvbench::detail::main_initialize(argc, argv);
        nvbench::option_parser parser;
        parser.parse(with_device(nvbench::detail::main_convert_args(argc, argv)));
        nvbench::detail::main_print_preamble(parser);
        nvbench::detail::main_run_benchmarks(parser);
        nvbench::detail::main_print_epilogue(parser);
        nvbench::detail::main_print_results(parser);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "rondo-nvbench: " << error.what() << '\n';
        return 1;
    }
}
