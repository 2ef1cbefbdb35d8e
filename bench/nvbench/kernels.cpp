// The kernel with programs of one step and axes for nvbench: a reduction by element type, sources,
// bytes and blocks, a copy by destinations, bytes and blocks. All memory is on one device.
#include <vector>

#include "bench/nvbench/benchmarks.hpp"
#include "bench/nvbench/timing.hpp"
#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "kernels/step_program.hpp"

namespace rondo::bench {
namespace {

const DeviceId first_device(0);

/// Spans of `bytes`, filled with ordinary numbers in every element type.
std::vector<DeviceBuffer<std::byte>> make_spans(std::int64_t count, std::size_t bytes) {
    std::vector<DeviceBuffer<std::byte>> spans;
    const Stream stream(first_device);
    for (std::int64_t i = 0; i < count; ++i) {
        spans.emplace_back(first_device, bytes);
        fill_bytes(stream, spans.back().span(), std::byte{0x3c});
    }
    stream.synchronize();
    return spans;
}

void reduce_step(nvbench::state& state) {
    const ElementType type = parse_element_type(state.get_string("Type"));
    const auto sources = static_cast<std::uint32_t>(state.get_int64("Sources"));
    const auto bytes = static_cast<std::size_t>(state.get_int64("Bytes"));
    const auto spans = make_spans(sources + 1, bytes);
    std::vector<kernels::RankPart> parts(sources);
    for (std::uint32_t s = 0; s < sources; ++s) parts[s].input = spans[s].data();
    parts[0].output = spans.back().data();
    kernels::StepProgram program(first_device);
    program.prepare(
        type, ReduceOp::sum, parts,
        {.source_count = sources, .destination_count = 1, .count = bytes / size_of(type)},
        {.blocks = static_cast<unsigned>(state.get_int64("Blocks"))});
    state.add_element_count(bytes / size_of(type));
    state.add_global_memory_reads(bytes * sources);
    state.add_global_memory_writes(bytes);
    time_work(state, first_device, [&](StreamRef stream) { program.launch(stream); });
}

void copy_step(nvbench::state& state) {
    const auto destinations = static_cast<std::uint32_t>(state.get_int64("Destinations"));
    const auto bytes = static_cast<std::size_t>(state.get_int64("Bytes"));
    const auto spans = make_spans(destinations + 1, bytes);
    std::vector<kernels::RankPart> parts(destinations);
    for (std::uint32_t d = 0; d < destinations; ++d) parts[d].output = spans[d].data();
    parts[0].input = spans.back().data();
    kernels::StepProgram program(first_device);
    program.prepare(ElementType::u8, ReduceOp::sum, parts,
                    {.source_count = 1, .destination_count = destinations, .count = bytes},
                    {.blocks = static_cast<unsigned>(state.get_int64("Blocks"))});
    state.add_element_count(bytes, "Bytes copied");
    state.add_global_memory_reads(bytes);
    state.add_global_memory_writes(bytes * destinations);
    time_work(state, first_device, [&](StreamRef stream) { program.launch(stream); });
}

}  // namespace

void add_kernels(nvbench::benchmark_manager& manager) {
    add_benchmark<reduce_step>(manager, "reduce_step")
        .add_string_axis("Type", {"f32", "f16", "bf16", "f8e4m3", "i8"})
        .add_int64_axis("Sources", {2, 8})
        .add_int64_axis("Bytes", {64 << 10, 1 << 20, 16 << 20})
        .add_int64_axis("Blocks", {1, 8});
    add_benchmark<copy_step>(manager, "copy_step")
        .add_int64_axis("Destinations", {1, 7})
        .add_int64_axis("Bytes", {64 << 10, 1 << 20, 16 << 20})
        .add_int64_axis("Blocks", {1, 8});
}

}  // namespace rondo::bench
