// How fast the loops of host blocks are, next to hand-written ones and to each other, in CPU time
// of one thread. Runs all benchmarks several times in random order and ends with a table of ratios.
// Takes the options of Google Benchmark:
//   kernels_bench --benchmark_filter=f16       kernels_bench --benchmark_repetitions=25
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "bench/ratio_table.hpp"
#include "bench/tool/memory_loops.hpp"
#include "kernels/host/host_block.hpp"

namespace rondo::bench {
namespace {

using namespace rondo::kernels;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t arena_bytes = 512 * mebibyte;

struct FreeArena {
    void operator()(std::byte* memory) const { std::free(memory); }
};
using Arena = std::unique_ptr<std::byte[], FreeArena>;

/// Touched, so that no benchmark pays for page faults. The bytes are ordinary numbers in every
/// element type.
Arena make_arena() {
    Arena arena(static_cast<std::byte*>(std::aligned_alloc(4096, arena_bytes)));
    if (arena == nullptr) {
        throw std::bad_alloc();
    }
    std::memset(arena.get(), 0x3c, arena_bytes);
    return arena;
}

/// Spans of `bytes` in the arena, the destination last; a few lines apart, so that they do not
/// compete for the same places in the caches.
struct Spans {
    const void* sources[8];
    void* destination[1];

    Spans(std::byte* arena, std::uint32_t count, std::size_t bytes) {
        const std::size_t stride = bytes + 17 * 64;
        for (std::uint32_t s = 0; s < count; ++s) {
            sources[s] = arena + s * stride;
        }
        destination[0] = arena + count * stride;
    }
};

struct Size {
    std::uint32_t sources;
    std::size_t total;  ///< bytes of all sources
    std::size_t each() const { return total / sources; }
    std::string text() const {
        return fmt::format("{} sources, {} MiB", sources, total / mebibyte);
    }
};

std::string name_of(std::string_view what, const Size& size) {
    return fmt::format("{}/sources:{}/MiB:{}", what, size.sources, size.total / mebibyte);
}

ReduceStep step_of(const Spans& spans, const Size& size, ElementType type) {
    return {.sources = spans.sources,
            .destinations = spans.destination,
            .source_count = size.sources,
            .destination_count = 1,
            .count = size.each() / size_of(type)};
}

/// What HostBlock::reduce() does, without vgpu around it.
void run_loop(benchmark::State& state, std::byte* arena, const Size& size, ElementType type,
              ReduceOp op) {
    const Spans spans(arena, size.sources, size.each());
    const ReduceStep step = step_of(spans, size, type);
    const HostLoop loop = find_fold(loops_of(chosen_isa()).reduce, type, op);
    for ([[maybe_unused]] auto iteration : state) {
        loop(step, HostBlock::choose_stores(step, size_of(type)));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(size.total) * state.iterations());
}

void run_hand_written(benchmark::State& state, std::byte* arena, const Size& size) {
    const Spans spans(arena, size.sources, size.each());
    const Stores stores = HostBlock::choose_stores(step_of(spans, size, ElementType::f32), 4);
    const SumOfMany sum = sum_of(size.sources, stores == Stores::streaming);
    for ([[maybe_unused]] auto iteration : state) {
        sum(reinterpret_cast<const float* const*>(spans.sources),
            static_cast<float*>(spans.destination[0]), size.each() / 4);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(size.total) * state.iterations());
}

/// A sum of two and then a copy of the result, with either kind of stores: whether its reader finds
/// the result in a cache.
void run_then_read(benchmark::State& state, std::byte* arena, std::size_t bytes, Stores stores) {
    const Spans spans(arena, 2, bytes);
    const HostLoops& loops = loops_of(chosen_isa());
    const ReduceStep reduce{.sources = spans.sources,
                            .destinations = spans.destination,
                            .source_count = 2,
                            .destination_count = 1,
                            .count = bytes / 4};
    const void* const result[] = {spans.destination[0]};
    void* const target[] = {const_cast<void*>(spans.sources[0])};
    const ReduceStep copy{.sources = result,
                          .destinations = target,
                          .source_count = 1,
                          .destination_count = 1,
                          .count = bytes};
    for ([[maybe_unused]] auto iteration : state) {
        find_fold(loops.reduce, ElementType::f32, ReduceOp::sum)(reduce, stores);
        loops.copy(copy, Stores::cached);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(2 * bytes) * state.iterations());
}

constexpr Size sizes[] = {{2, mebibyte}, {8, mebibyte}, {2, 256 * mebibyte}, {8, 256 * mebibyte}};

std::vector<Ratio> register_loops(std::byte* arena) {
    std::vector<Ratio> ratios;
    for (const Size& size : sizes) {
        const std::string float_name = name_of("sum_f32", size);
        if (sum_of(2, false) != nullptr) {
            benchmark::RegisterBenchmark(name_of("hand_written_f32", size).c_str(),
                                         run_hand_written, arena, size);
            ratios.push_back({"f32 sum / hand-written with the same stores, " + size.text(),
                              float_name, name_of("hand_written_f32", size), 0.9});
        }
        for (const ElementType type : all_element_types) {
            const std::string name = name_of(fmt::format("sum_{}", to_string(type)), size);
            benchmark::RegisterBenchmark(name.c_str(), run_loop, arena, size, type, ReduceOp::sum);
            const bool half = type == ElementType::f16 || type == ElementType::bf16;
            if (type != ElementType::f32) {
                ratios.push_back(
                    {fmt::format("{} sum / f32 sum, in bytes, {}", to_string(type), size.text()),
                     name, float_name, half ? 0.7 : 0});
            }
        }
        const std::string minimum = name_of("min_f32", size);
        benchmark::RegisterBenchmark(minimum.c_str(), run_loop, arena, size, ElementType::f32,
                                     ReduceOp::min);
        ratios.push_back({"f32 min / f32 sum, " + size.text(), minimum, float_name});
    }
    return ratios;
}

std::vector<Ratio> register_stores(std::byte* arena) {
    std::vector<Ratio> ratios;
    for (std::size_t kibibytes = 1024; kibibytes <= 65536; kibibytes *= 2) {
        const std::string cached = fmt::format("then_read/cached/KiB:{}", kibibytes);
        const std::string streaming = fmt::format("then_read/streaming/KiB:{}", kibibytes);
        benchmark::RegisterBenchmark(cached.c_str(), run_then_read, arena, kibibytes << 10,
                                     Stores::cached);
        benchmark::RegisterBenchmark(streaming.c_str(), run_then_read, arena, kibibytes << 10,
                                     Stores::streaming);
        ratios.push_back(
            {fmt::format("streaming / cached stores, result read next, {} KiB", kibibytes),
             streaming, cached});
    }
    return ratios;
}

int run_all(std::vector<char*> arguments) {
    const Arena arena = make_arena();
    std::vector<Ratio> ratios = register_loops(arena.get());
    const std::vector<Ratio> more = register_stores(arena.get());
    ratios.insert(ratios.end(), more.begin(), more.end());
    auto count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) {
        return 2;
    }
    fmt::print("instruction set: {}\n", to_string(chosen_isa()));
    RatioTable table(std::move(ratios));
    benchmark::RunSpecifiedBenchmarks(&table);
    return 0;
}

}  // namespace
}  // namespace rondo::bench

/// Options of the caller come last and win.
int main(int argc, char** argv) {
    std::string repetitions = "--benchmark_repetitions=7",
                order = "--benchmark_enable_random_interleaving=true",
                least = "--benchmark_min_time=0.02";
    std::vector<char*> arguments{argv[0], repetitions.data(), order.data(), least.data()};
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    return rondo::bench::run_all(arguments);
}
