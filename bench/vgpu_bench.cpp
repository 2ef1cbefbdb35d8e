// How long the virtual GPU itself takes: launching, switching between blocks, waking workers. Times
// are of this machine's processor; nothing here says anything about a GPU.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "cuda/device.hpp"
#include "cuda/peer.hpp"
#include "cuda/stream.hpp"
#include "kernels/kernel_block.hpp"
#include "kernels/launch.hpp"
#include "kernels/publish.hpp"

namespace {

using namespace rondo;

struct Nothing {};
void empty_kernel(Nothing) {}

/// Every rank tells every other that it came, and waits for all, `rounds` times. flags[r] has one
/// flag per rank, in the memory of rank r.
struct Barrier {
    std::uint32_t* flags[64] = {};
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rounds = 1;
};

void barrier_kernel(Barrier barrier) {
    kernels::KernelBlock block;
    for (std::uint32_t round = 1; round <= barrier.rounds; ++round) {
        const std::uint32_t value = barrier.epoch + round;
        for (std::uint32_t peer = 0; peer < barrier.ranks; ++peer) {
            if (peer != barrier.rank) block.signal(barrier.flags[peer] + barrier.rank, value);
        }
        for (std::uint32_t peer = 0; peer < barrier.ranks; ++peer) {
            if (peer == barrier.rank) continue;
            block.wait({.flag = barrier.flags[barrier.rank] + peer, .wanted = value}, {});
        }
    }
}

/// An empty kernel on an idle stream, and waiting for it, from one caller.
void launch_and_synchronise(benchmark::State& state) {
    const Stream stream{DeviceId(0)};
    const kernels::Kernel<Nothing> kernel{kernels::publish<Nothing, &empty_kernel>("empty_kernel"),
                                          "empty_kernel"};
    for (auto _ : state) {
        kernels::launch(kernel, Nothing(), stream, {.blocks = 1});
        stream.synchronize();
    }
}
BENCHMARK(launch_and_synchronise)->Repetitions(9)->ReportAggregatesOnly();

/// N one-block kernels that tell each other that they came, many rounds per launch: the time of one
/// round.
void flag_barrier(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    const auto rounds = static_cast<std::uint32_t>(state.range(1));
    const std::vector<DeviceId> all = all_devices();
    if (all.size() < count) return state.SkipWithError("there are fewer devices");
    const std::vector<DeviceId> devices(all.begin(),
                                        all.begin() + static_cast<std::ptrdiff_t>(count));
    enable_peer_access(devices);
    std::vector<Stream> streams;
    std::vector<DeviceBuffer<std::uint32_t>> flags;
    Barrier arguments;
    arguments.ranks = static_cast<std::uint32_t>(count);
    arguments.rounds = rounds;
    for (std::size_t i = 0; i < count; ++i) {
        streams.emplace_back(devices[i]);
        flags.emplace_back(devices[i], count);
        fill_bytes(streams[i], flags[i].span(), std::byte{0});
        streams[i].synchronize();
        arguments.flags[i] = flags[i].data();
    }
    const kernels::Kernel<Barrier> kernel{
        kernels::publish<Barrier, &barrier_kernel>("barrier_kernel"), "barrier_kernel"};
    for (auto _ : state) {
        for (std::size_t i = 0; i < count; ++i) {
            arguments.rank = static_cast<std::uint32_t>(i);
            kernels::launch(kernel, arguments, streams[i], {.blocks = 1});
        }
        for (const Stream& stream : streams) stream.synchronize();
        arguments.epoch += rounds;
    }
    state.counters["per_round"] = benchmark::Counter(
        static_cast<double>(rounds),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(flag_barrier)
    ->ArgNames({"devices", "rounds"})
    ->Args({8, 1})
    ->Args({8, 1000})
    ->Repetitions(9)
    ->ReportAggregatesOnly();

}  // namespace

BENCHMARK_MAIN();
