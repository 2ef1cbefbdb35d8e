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
#include "kernels/kernels.hpp"
#include "kernels/launch.hpp"

namespace {

using namespace rondo;

/// An empty kernel (a copy of nothing) on an idle stream, and waiting for it, from one caller.
void launch_and_synchronise(benchmark::State& state) {
    const Stream stream{DeviceId(0)};
    const auto kernel = kernels::find_copy_kernel();
    for (auto _ : state) {
        kernels::launch(kernel, {}, stream, {.blocks = 1});
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
    kernels::BarrierArguments arguments;
    arguments.ranks = static_cast<std::uint32_t>(count);
    arguments.rounds = rounds;
    for (std::size_t i = 0; i < count; ++i) {
        streams.emplace_back(devices[i]);
        flags.emplace_back(devices[i], count);
        fill_bytes(streams[i], flags[i].span(), std::byte{0});
        streams[i].synchronize();
        arguments.flags[i] = flags[i].data();
    }
    const auto kernel = kernels::find_barrier_kernel();
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
