// The demonstration: sums tensors across all GPUs, checks every element, and prints a table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <rondo/communicator.hpp>

namespace {

using Clock = std::chrono::steady_clock;

struct Request {
    int devices = 0;  ///< 0: all
    std::size_t smallest = 4, largest = std::size_t{64} << 20;
    unsigned blocks = 0, repeat = 5;
    std::string strategy = "automatic";
};

using Tensors = std::vector<rondo::Tensor<float>>;

void check(cudaError_t status, const char* call) {
    if (status != cudaSuccess) {
        throw rondo::CudaError(status, fmt::format("{}: {}", call, cudaGetErrorString(status)));
    }
}

void copy(float* to, const float* from, std::size_t count) {
    check(cudaMemcpy(to, from, count * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
}

rondo::Communicator make_communicator(const Request& request) {
    std::vector<int> devices(static_cast<std::size_t>(request.devices));
    std::iota(devices.begin(), devices.end(), 0);
    return rondo::Communicator::create({.devices = devices,
                                        .strategy = rondo::parse_strategy(request.strategy),
                                        .tuning = {.replicas = request.blocks}});
}

Tensors allocate(const rondo::Communicator& comm, std::size_t count) {
    Tensors tensors;
    for (const int device : comm.devices()) {
        tensors.push_back(rondo::Tensor<float>::allocate(device, count));
    }
    return tensors;
}

/// The first `count` elements of each.
rondo::PerReplica<float> first_of(const Tensors& tensors, std::size_t count) {
    Tensors parts;
    for (const auto& tensor : tensors) parts.emplace_back(tensor.device(), tensor.data(), count);
    return rondo::PerReplica<float>(std::move(parts));
}

/// Small whole numbers: their sum is exact in any order.
float value_at(std::size_t rank, std::size_t index) {
    return static_cast<float>((index * 7 + rank * 3) % 17);
}

void fill(const Tensors& inputs, std::size_t count) {
    std::vector<float> host(count);
    for (std::size_t r = 0; r < inputs.size(); ++r) {
        for (std::size_t i = 0; i < count; ++i) host[i] = value_at(r, i);
        copy(inputs[r].data(), host.data(), count);
    }
}

std::size_t count_wrong(const Tensors& outputs, std::size_t count) {
    std::vector<float> expected(count), host(count);
    for (std::size_t r = 0; r < outputs.size(); ++r) {
        for (std::size_t i = 0; i < count; ++i) expected[i] += value_at(r, i);
    }
    std::size_t wrong = 0;
    for (const auto& output : outputs) {
        copy(host.data(), output.data(), count);
        for (std::size_t i = 0; i < count; ++i) wrong += host[i] != expected[i] ? 1 : 0;
    }
    return wrong;
}

/// The median of some runs, in seconds.
double time_all_reduce(rondo::Communicator& comm, const rondo::PerReplica<const float>& inputs,
                       const rondo::PerReplica<float>& outputs, unsigned repeat) {
    std::vector<double> seconds;
    for (unsigned i = 0; i < repeat; ++i) {
        const auto begin = Clock::now();
        comm.all_reduce(rondo::ReduceOp::sum, inputs, outputs).wait();
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
}

void print_header(const rondo::Communicator& comm) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, comm.device(0)), "cudaGetDeviceProperties");
    const std::string name = properties.name;
    fmt::print("# sum of f32 tensors over {} x {}; every element of every result is checked\n",
               comm.size(), name);
    fmt::print("# times are measured {}\n",
               name.starts_with("vgpu") ? "on this machine's processor and memory: virtual GPUs"
                                        : "on the GPUs");
    fmt::print("{:>12} {:>12} {:>12} {:>14} {:>8}  {}\n", "bytes", "elements", "time (us)",
               "algbw (GB/s)", "wrong", "strategy");
}

/// Returns how many elements were wrong.
std::size_t run(const Request& request) {
    rondo::Communicator comm = make_communicator(request);
    print_header(comm);
    const Tensors inputs = allocate(comm, request.largest / sizeof(float));
    const Tensors outputs = allocate(comm, request.largest / sizeof(float));
    std::size_t wrong = 0;
    for (std::size_t bytes = request.smallest; bytes <= request.largest; bytes *= 8) {
        const std::size_t count = bytes / sizeof(float);
        fill(inputs, count);
        const double seconds = time_all_reduce(comm, first_of(inputs, count),
                                               first_of(outputs, count), request.repeat);
        const std::size_t here = count_wrong(outputs, count);
        const rondo::Schedule schedule = comm.schedule_for(
            rondo::Collective::all_reduce, rondo::ElementType::f32, rondo::ReduceOp::sum, count);
        fmt::print("{:>12} {:>12} {:>12.1f} {:>14.2f} {:>8}  {}\n", bytes, count, seconds * 1e6,
                   static_cast<double>(bytes) / seconds * 1e-9, here, schedule.name);
        wrong += here;
    }
    fmt::print("{}\n", wrong == 0 ? "OK: all results are right"
                                  : fmt::format("FAILED: {} wrong elements", wrong));
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Sums tensors across GPUs and checks the result.\n"
        "Without a GPU it runs on virtual ones: VGPU_TOPOLOGY=8, dgx_a100, a topology file ...\n"
        "Exit codes: 0 all right, 1 wrong elements, 2 it could not run."};
    Request request;
    app.add_option("-n,--devices", request.devices, "how many GPUs (default: all)")
        ->check(CLI::PositiveNumber);
    app.add_option("-b,--min-bytes", request.smallest, "smallest size, e.g. 4 or 1M")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(4.0, 1e12));
    app.add_option("-e,--max-bytes", request.largest, "largest size; sizes grow by 8")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(4.0, 1e12));
    app.add_option("-s,--strategy", request.strategy,
                   "automatic (default), direct, ring, tree(2), centralized, hierarchical_copy(4)");
    app.add_option("--blocks", request.blocks, "blocks per GPU (default: the library chooses)")
        ->check(CLI::Range(1, 32));
    app.add_option("--repeat", request.repeat, "runs per size; the median is shown")
        ->check(CLI::Range(1, 1000));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    try {
        return run(request) == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rondo-demo: {}\n", error.what());
        return 2;
    }
}
