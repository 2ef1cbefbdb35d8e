// The kernels of one step with axes for nvbench: a reduction by element type, sources, bytes and
// blocks, a copy by destinations, bytes and blocks. All memory is on one device.
#include <vector>

#include "bench/nvbench/benchmarks.hpp"
#include "bench/nvbench/timing.hpp"
#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "kernels/kernels.hpp"
#include "kernels/launch.hpp"

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

void reduce_kernel(nvbench::state& state) {
    const ElementType type = parse_element_type(state.get_string("Type"));
    const std::int64_t sources = state.get_int64("Sources");
    const auto bytes = static_cast<std::size_t>(state.get_int64("Bytes"));
    const auto spans = make_spans(sources + 1, bytes);
    kernels::ReduceArguments arguments;
    for (std::size_t s = 0; s + 1 < spans.size(); ++s) arguments.sources[s] = spans[s].data();
    arguments.source_count = static_cast<std::uint32_t>(sources);
    arguments.destinations[0] = const_cast<std::byte*>(spans.back().data());
    arguments.destination_count = 1;
    arguments.count = bytes / size_of(type);
    const auto kernel = kernels::find_reduce_kernel(type, ReduceOp::sum);
    const auto blocks = static_cast<unsigned>(state.get_int64("Blocks"));
    state.add_element_count(arguments.count);
    state.add_global_memory_reads(bytes * static_cast<std::size_t>(sources));
    state.add_global_memory_writes(bytes);
    time_work(state, first_device, [&](StreamRef stream) {
        kernels::launch(kernel, arguments, stream, {.blocks = blocks});
    });
}

void copy_kernel(nvbench::state& state) {
    const std::int64_t destinations = state.get_int64("Destinations");
    const auto bytes = static_cast<std::size_t>(state.get_int64("Bytes"));
    const auto spans = make_spans(destinations + 1, bytes);
    kernels::CopyArguments arguments;
    arguments.source = spans.back().data();
    arguments.destination_count = static_cast<std::uint32_t>(destinations);
    for (std::size_t d = 0; d + 1 < spans.size(); ++d) {
        arguments.destinations[d] = const_cast<std::byte*>(spans[d].data());
    }
    arguments.bytes = bytes;
    const auto blocks = static_cast<unsigned>(state.get_int64("Blocks"));
    state.add_element_count(bytes, "Bytes copied");
    state.add_global_memory_reads(bytes);
    state.add_global_memory_writes(bytes * static_cast<std::size_t>(destinations));
    time_work(state, first_device, [&](StreamRef stream) {
        kernels::launch(kernels::find_copy_kernel(), arguments, stream, {.blocks = blocks});
    });
}

}  // namespace

void add_kernels(nvbench::benchmark_manager& manager) {
    add_benchmark<reduce_kernel>(manager, "reduce_kernel")
        .add_string_axis("Type", {"f32", "f16", "bf16", "f8e4m3", "i8"})
        .add_int64_axis("Sources", {2, 8})
        .add_int64_axis("Bytes", {64 << 10, 1 << 20, 16 << 20})
        .add_int64_axis("Blocks", {1, 8});
    add_benchmark<copy_kernel>(manager, "copy_kernel")
        .add_int64_axis("Destinations", {1, 7})
        .add_int64_axis("Bytes", {64 << 10, 1 << 20, 16 << 20})
        .add_int64_axis("Blocks", {1, 8});
}

}  // namespace rondo::bench
