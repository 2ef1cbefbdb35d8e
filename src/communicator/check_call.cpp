#include "communicator/check_call.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "kernels/kernels.hpp"

namespace rondo::detail {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

/// Of the parts of the ranks before `rank`.
std::uint64_t bytes_before(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint64_t count =
        call.counts.empty()
            ? call.count / ranks * rank
            : std::accumulate(call.counts.begin(), call.counts.begin() + rank, std::uint64_t{0});
    return count * size_of(call.type);
}

std::uintptr_t begin_of(const CheckedMemory& buffer) {
    return reinterpret_cast<std::uintptr_t>(buffer.data);
}

/// In place: the output is the input, or the rank's own part of it.
void check_overlap(const Call& call, std::uint32_t ranks, std::uint32_t rank,
                   const CheckedMemory& input, const CheckedMemory& output) {
    if (input.bytes == 0 || output.bytes == 0) return;
    const bool overlaps = begin_of(input) < begin_of(output) + output.bytes &&
                          begin_of(output) < begin_of(input) + input.bytes;
    if (!overlaps) return;
    if (call.collective == Collective::all_to_all) {
        throw InvalidArgument(
            fmt::format("rank {}: input {} and output {} overlap; all_to_all is not in place", rank,
                        input.data, output.data));
    }
    std::uintptr_t in_place = begin_of(input);
    if (call.collective == Collective::all_gather || call.collective == Collective::gather) {
        in_place -= bytes_before(call, ranks, rank);
    }
    if (call.collective == Collective::reduce_scatter || call.collective == Collective::scatter) {
        in_place += bytes_before(call, ranks, rank);
    }
    if (begin_of(output) != in_place) {
        throw InvalidArgument(
            fmt::format("rank {}: input {} and output {} overlap without being in place", rank,
                        input.data, output.data));
    }
}

bool is_integer(ElementType type) {
    return type <= ElementType::u64;
}

void check_factor(const Call& call, std::uint32_t rank, double factor) {
    if (call.op != ReduceOp::premul_sum) return;
    if (is_integer(call.type) && std::trunc(factor) != factor) {
        throw InvalidArgument(fmt::format("the factor of rank {} is {}, which {} can't hold", rank,
                                          factor, to_string(call.type)));
    }
    kernels::argument_bits(call.type, factor);  // throws for one that does not fit
}

void check_schedule(const Call& call, const Schedule& schedule, std::uint32_t ranks) {
    std::vector<std::uint32_t> wanted(call.destinations.begin(), call.destinations.end());
    if (wanted.empty()) {
        wanted.resize(ranks);
        std::iota(wanted.begin(), wanted.end(), 0u);
    }
    if (call.collective == Collective::gather) wanted = {call.root};
    if (schedule.collective != call.collective ||
        (has_root(call.collective) && schedule.root != call.root) ||
        schedule.destinations != wanted) {
        throw InvalidArgument(fmt::format(
            "the schedule '{}' is for {} with root {} and destinations {}, not for {} with root {} "
            "and destinations {}",
            schedule.name, to_string(schedule.collective), schedule.root, schedule.destinations,
            to_string(call.collective), call.root, wanted));
    }
}

}  // namespace

void check_options(const CallOptions& options, std::size_t ranks, ReduceOp op) {
    const auto check_size = [ranks](std::size_t size, const char* what) {
        if (size != 0 && size != ranks) {
            throw InvalidArgument(fmt::format("{} {} were given for {} ranks", size, what, ranks));
        }
    };
    check_size(options.streams.size(), "streams");
    check_size(options.factors.size(), "factors");
    if (!options.factors.empty() && op != ReduceOp::premul_sum) {
        throw InvalidArgument(
            fmt::format("factors are for premul_sum, the operator is {}", to_string(op)));
    }
    if (options.factors.empty() && op == ReduceOp::premul_sum) {
        throw InvalidArgument("premul_sum needs CallOptions::factors: one for each rank");
    }
}

RankBuffers buffers_of(const CallOptions& options, std::size_t index, const void* input,
                       void* output) {
    return {.input = input,
            .output = output,
            .stream = options.streams.empty() ? cudaStreamLegacy : options.streams[index],
            .factor = options.factors.empty() ? 1 : options.factors[index]};
}

void apply(Call& call, const CallOptions& options, const CommunicatorState& state) {
    call.strategy = options.strategy.value_or(state.options().strategy);
    call.schedule = options.schedule;
    for (const std::span<const std::uint64_t> counts : {call.counts, call.receive_counts}) {
        if (counts.empty()) continue;
        if (counts.size() != state.ranks()) {
            throw InvalidArgument(
                fmt::format("{} counts were given for {} ranks", counts.size(), state.ranks()));
        }
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts) {
            if (count > most_bytes - sum) {
                throw InvalidArgument(
                    fmt::format("{} elements and more are more than memory can hold", count));
            }
            sum += count;
        }
        if (counts.data() == call.counts.data()) call.count = sum;
    }
}

void check_call(const Call& call, const CommunicatorState& state) {
    const std::uint64_t element = size_of(call.type);
    require_valid(call.op);
    if (call.count > most_bytes / element) {
        throw InvalidArgument(fmt::format("{} elements are more than memory can hold", call.count));
    }
    if (call.schedule != 0) {
        check_schedule(call, *state.plans().schedule(call.schedule), state.ranks());
    }
}

void check_memory(const CheckedMemory& buffer, std::uint32_t rank, DeviceId device) {
    if (buffer.bytes == 0) {
        return;
    }
    const DeviceGuard guard(device);
    if (buffer.data == nullptr) {
        throw InvalidArgument(fmt::format("the {} of rank {} is null", buffer.name, rank));
    }
    if (begin_of(buffer) % buffer.element != 0) {
        throw InvalidArgument(
            fmt::format("the {} of rank {} at {} is not aligned to its elements of {} bytes",
                        buffer.name, rank, buffer.data, buffer.element));
    }
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, buffer.data), "cudaPointerGetAttributes");
    if (attributes.type == cudaMemoryTypeUnregistered) {
        throw InvalidArgument(
            fmt::format("the {} of rank {} at {} is no memory that a GPU can reach", buffer.name,
                        rank, buffer.data));
    }
    if (attributes.type == cudaMemoryTypeDevice && attributes.device != device.value()) {
        throw InvalidArgument(fmt::format("the {} of rank {} lies on device {}, the rank is on {}",
                                          buffer.name, rank, attributes.device, device.value()));
    }
    const std::optional<memory::MemoryRange> range = memory::allocation_range(buffer.data);
    if (range && begin_of(buffer) + buffer.bytes > range->begin + range->bytes) {
        throw InvalidArgument(fmt::format(
            "the {} of rank {} has {} bytes at {}, but its allocation ends {} bytes from there",
            buffer.name, rank, buffer.bytes, buffer.data,
            range->begin + range->bytes - begin_of(buffer)));
    }
}

void check_stream(cudaStream_t stream, std::uint32_t rank, DeviceId device) {
    try {
        rondo::check_stream(StreamRef(device, stream));
    } catch (const Error& error) {
        throw InvalidArgument(fmt::format("the stream of rank {}: {}", rank, error.what()));
    }
}

void check_buffers(const Call& call, std::uint32_t rank, const RankBuffers& buffers,
                   CommunicatorState& state) {
    const std::uint64_t element = size_of(call.type);
    const std::uint32_t ranks = state.ranks();
    const DeviceId device = state.machine().device(rank);
    check_factor(call, rank, buffers.factor);
    check_stream(buffers.stream, rank, device);
    if (!buffers.segments.empty()) {
        for (const Segment& segment : buffers.segments) {
            check_memory({"input", segment.input, segment.count * element, element}, rank, device);
            check_memory({"output", segment.output, segment.count * element, element}, rank,
                         device);
        }
        return;
    }
    const CheckedMemory input{"input", buffers.input, input_count(call, ranks, rank) * element,
                              element};
    const CheckedMemory output{"output", buffers.output, output_count(call, ranks, rank) * element,
                               element};
    RankQueue& queue = state.rank(rank);
    const CheckedBuffer now[2] = {{input.data, input.bytes}, {output.data, output.bytes}};
    const std::lock_guard lock(queue.mutex);
    if (!(now[0] == queue.checked[0]) || !(now[1] == queue.checked[1])) {
        check_memory(input, rank, device);
        check_memory(output, rank, device);
        queue.checked[0] = now[0];
        queue.checked[1] = now[1];
    }
    check_overlap(call, ranks, rank, input, output);
}

}  // namespace rondo::detail
