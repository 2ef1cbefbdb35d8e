// What is wrong with a call, found before anything is enqueued.
#include <numeric>

#include <fmt/format.h>

#include "communicator/core.hpp"
#include "cuda/check.hpp"
#include "kernels/kernels.hpp"

namespace rondo::detail {
namespace {

struct Buffer {
    const char* name;
    const void* data;
    std::uint64_t bytes;
    std::uint64_t element;
};

void check_memory(const Buffer& buffer, std::uint32_t rank, DeviceId device) {
    if (buffer.bytes == 0) {
        return;
    }
    if (buffer.data == nullptr) {
        throw InvalidArgument(fmt::format("the {} of rank {} is null", buffer.name, rank));
    }
    if (reinterpret_cast<std::uintptr_t>(buffer.data) % buffer.element != 0) {
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
}

/// Of the parts of the ranks before `rank`.
std::uint64_t bytes_before(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint64_t count =
        call.counts.empty()
            ? call.count / ranks * rank
            : std::accumulate(call.counts.begin(), call.counts.begin() + rank, std::uint64_t{0});
    return count * size_of(call.type);
}

}  // namespace

void Core::check_schedule(const Call& call) {
    if (call.schedule == 0) return;  // none
    const std::lock_guard lock(plans_mutex_);
    if (call.schedule > schedules_.size()) {
        throw InvalidArgument(fmt::format("there is no schedule {}; {} were added", call.schedule,
                                          schedules_.size()));
    }
    const Schedule& schedule = schedules_[call.schedule - 1];
    if (schedule.collective != call.collective || schedule.root != call.root) {
        throw InvalidArgument(fmt::format(
            "the schedule '{}' is for {} with root {}, not for {} with root {}", schedule.name,
            to_string(schedule.collective), schedule.root, to_string(call.collective), call.root));
    }
}

void Core::check_call(const Call& call) {
    const std::uint64_t element = size_of(call.type);
    to_string(call.op);
    if (call.count > (std::uint64_t{1} << 62) / element) {
        throw InvalidArgument(fmt::format("{} elements are more than memory can hold", call.count));
    }
    check_schedule(call);
}

void Core::check_buffers(const Call& call, std::uint32_t first_rank,
                         std::span<const RankBuffers> buffers) {
    const std::lock_guard lock(checks_mutex_);
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        check_buffers_of(call, first_rank + i, buffers[i]);
    }
}

void Core::check_buffers_of(const Call& call, std::uint32_t rank, const RankBuffers& buffers) {
    const std::uint32_t name = names_.of(rank);
    const std::uint64_t element = size_of(call.type);
    const std::uint32_t ranks = machine_.ranks();
    if (call.op == ReduceOp::premul_sum) {
        kernels::argument_bits(call.type, buffers.factor);  // throws for one that does not fit
    }
    if (!buffers.segments.empty()) {
        for (const Segment& segment : buffers.segments) {
            check_memory({"input", segment.input, segment.count * element, element}, name,
                         machine_.device(rank));
            check_memory({"output", segment.output, segment.count * element, element}, name,
                         machine_.device(rank));
        }
        return;
    }
    const Buffer input{"input", buffers.input, input_count(call, ranks, rank) * element, element};
    const Buffer output{"output", buffers.output, output_count(call, ranks, rank) * element,
                        element};
    RankRecord& record = *records_[rank];
    const CheckedBuffer now[2] = {{input.data, input.bytes}, {output.data, output.bytes}};
    if (!(now[0] == record.checked[0]) || !(now[1] == record.checked[1])) {
        check_memory(input, name, machine_.device(rank));
        check_memory(output, name, machine_.device(rank));
        record.checked[0] = now[0];
        record.checked[1] = now[1];
    }
    if (input.bytes == 0 || output.bytes == 0) {
        return;
    }
    // In place: the output is the input, or the rank's own part of it.
    const auto begin_of = [](const Buffer& buffer) {
        return reinterpret_cast<std::uintptr_t>(buffer.data);
    };
    std::uintptr_t in_place = begin_of(input);
    if (call.collective == Collective::all_gather) in_place -= bytes_before(call, ranks, rank);
    if (call.collective == Collective::reduce_scatter) in_place += bytes_before(call, ranks, rank);
    const bool overlaps = begin_of(input) < begin_of(output) + output.bytes &&
                          begin_of(output) < begin_of(input) + input.bytes;
    if (overlaps && begin_of(output) != in_place) {
        throw InvalidArgument(
            fmt::format("rank {}: input {} and output {} overlap without being in place", name,
                        input.data, output.data));
    }
}

}  // namespace rondo::detail
