// What rondo-nvbench offers: each adds its benchmarks, with names and axes.
#pragma once

#include <nvbench/nvbench.cuh>

#include <memory>
#include <string>

namespace rondo::bench {

void add_kernels(nvbench::benchmark_manager& manager);
void add_collectives(nvbench::benchmark_manager& manager);

/// `body` is what nvbench calls for every point of the axes.
template <void (*body)(nvbench::state&)>
nvbench::benchmark_base& add_benchmark(nvbench::benchmark_manager& manager, std::string name) {
    struct Callable {
        void operator()(nvbench::state& state, nvbench::type_list<>) { body(state); }
    };
    return manager.add(std::make_unique<nvbench::benchmark<Callable>>()).set_name(std::move(name));
}

}  // namespace rondo::bench
