// The demonstration: sums tensors across all GPUs with kernels that read and write peer memory,
// checks every element, and prints a table. Each GPU owns one slice: it reads that slice of every
// input and writes the sum to every output.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "cuda/device.hpp"
#include "cuda/peer.hpp"
#include "cuda/stream.hpp"
#include "kernels/kernels.hpp"
#include "kernels/launch.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

struct Request {
    int devices = 0;  ///< 0: all
    std::size_t smallest = 4, largest = std::size_t{64} << 20;
    unsigned blocks = 4, repeat = 5;
};

/// One GPU's part in the reduction.
struct Rank {
    explicit Rank(DeviceId device, std::size_t count)
        : stream(device), input(device, count), output(device, count) {}

    Stream stream;
    DeviceBuffer<float> input, output;
};

/// Small whole numbers: their sum is exact in any order.
float value_at(std::size_t rank, std::size_t index) {
    return static_cast<float>((index * 7 + rank * 3) % 17);
}

void fill_inputs(std::vector<Rank>& ranks, std::size_t count) {
    std::vector<float> host(count);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (std::size_t i = 0; i < count; ++i) host[i] = value_at(r, i);
        copy(ranks[r].stream, ranks[r].input.span().subspan(0, count),
             std::span<const float>(host));
        ranks[r].stream.synchronize();
    }
}

/// Slice `r` of the arrays: floor + remainder, so that any count works.
kernels::ReduceArguments slice_of(const std::vector<Rank>& ranks, std::size_t r,
                                  std::size_t count) {
    const std::size_t begin = count * r / ranks.size();
    kernels::ReduceArguments arguments;
    arguments.count = count * (r + 1) / ranks.size() - begin;
    arguments.source_count = arguments.destination_count = static_cast<std::uint32_t>(ranks.size());
    for (std::size_t peer = 0; peer < ranks.size(); ++peer) {
        arguments.sources[peer] = ranks[peer].input.data() + begin;
        arguments.destinations[peer] = ranks[peer].output.data() + begin;
    }
    return arguments;
}

void reduce_all(const std::vector<Rank>& ranks, std::size_t count, unsigned blocks) {
    const auto kernel = kernels::find_reduce_kernel(ElementType::f32, ReduceOp::sum);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        kernels::launch(kernel, slice_of(ranks, r, count), ranks[r].stream, {.blocks = blocks});
    }
    for (const Rank& rank : ranks) rank.stream.synchronize();
}

std::size_t count_wrong(const std::vector<Rank>& ranks, std::size_t count) {
    std::vector<float> expected(count), host(count);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (std::size_t i = 0; i < count; ++i) expected[i] += value_at(r, i);
    }
    std::size_t wrong = 0;
    for (const Rank& rank : ranks) {
        copy(rank.stream, std::span<float>(host), rank.output.span().subspan(0, count));
        rank.stream.synchronize();
        for (std::size_t i = 0; i < count; ++i) wrong += host[i] != expected[i] ? 1 : 0;
    }
    return wrong;
}

std::vector<DeviceId> choose_devices(int wanted) {
    std::vector<DeviceId> devices = all_devices();
    if (wanted > static_cast<int>(devices.size())) {
        throw InvalidArgument(
            fmt::format("{} devices were asked for; there are {}", wanted, devices.size()));
    }
    const std::size_t most = kernels::max_inline_spans;
    const std::size_t count =
        wanted > 0 ? static_cast<std::size_t>(wanted) : std::min(devices.size(), most);
    if (count > most)
        throw InvalidArgument(fmt::format(
            "{} devices were asked for; this demonstration takes at most {}", count, most));
    if (count == 0) throw Unsupported("no GPU was found");
    devices.resize(count, DeviceId(0));
    const PeerAccess access = enable_peer_access(devices);
    if (!access.complete()) {
        const PeerPair& pair = access.unreachable.front();
        throw Unsupported(fmt::format(
            "device {} can't reach device {}: this demonstration needs peer access between all",
            pair.from.value(), pair.to.value()));
    }
    return devices;
}

/// Returns how many elements were wrong.
std::size_t run(const Request& request) {
    const std::vector<DeviceId> devices = choose_devices(request.devices);
    const std::string name = device_properties(devices[0]).name;
    const bool is_virtual = name.starts_with("vgpu");
    fmt::print(
        "# sum of f32 tensors over {} x {}, {} blocks each; every element of every result is "
        "checked\n",
        devices.size(), name, request.blocks);
    fmt::print("# times are measured {}\n",
               is_virtual ? "on this machine's processor and memory: virtual GPUs" : "on the GPUs");
    fmt::print("{:>12} {:>12} {:>12} {:>14} {:>8}\n", "bytes", "elements", "time (us)",
               "algbw (GB/s)", "wrong");
    std::vector<Rank> ranks;
    for (const DeviceId device : devices)
        ranks.emplace_back(device, request.largest / sizeof(float));
    std::size_t wrong = 0;
    for (std::size_t bytes = request.smallest; bytes <= request.largest; bytes *= 8) {
        const std::size_t count = bytes / sizeof(float);
        fill_inputs(ranks, count);
        std::vector<double> seconds;
        for (unsigned i = 0; i < request.repeat; ++i) {
            const auto begin = Clock::now();
            reduce_all(ranks, count, request.blocks);
            seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
        }
        std::nth_element(seconds.begin(),
                         seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                         seconds.end());
        const double median = seconds[seconds.size() / 2];
        const std::size_t here = count_wrong(ranks, count);
        fmt::print("{:>12} {:>12} {:>12.1f} {:>14.2f} {:>8}\n", bytes, count, median * 1e6,
                   static_cast<double>(bytes) / median * 1e-9, here);
        wrong += here;
    }
    fmt::print("{}\n", wrong == 0 ? "OK: all results are right"
                                  : fmt::format("FAILED: {} wrong elements", wrong));
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Sums tensors across GPUs with kernels over peer memory and checks the result.\n"
        "Without a GPU it runs on virtual ones: VGPU_TOPOLOGY=8, dgx_a100, a topology file ...\n"
        "Exit codes: 0 all right, 1 wrong elements, 2 it could not run."};
    Request request;
    app.add_option("-n,--devices", request.devices, "how many GPUs (default: all, at most 16)")
        ->check(CLI::PositiveNumber);
    app.add_option("-b,--min-bytes", request.smallest, "smallest size, e.g. 4 or 1M")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(4.0, 1e12));
    app.add_option("-e,--max-bytes", request.largest, "largest size; sizes grow by 8")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(4.0, 1e12));
    app.add_option("--blocks", request.blocks, "blocks per GPU")->check(CLI::Range(1, 32));
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
