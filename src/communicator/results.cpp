// reduce, batch_reduce and broadcast: values on devices, results on destinations.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "communicator/check_call.hpp"

namespace rondo {

using detail::buffers_of;
using detail::Call;
using detail::check_options;
using detail::CommunicatorState;
using detail::RankBuffers;
using detail::View;

namespace {

std::uint32_t rank_of_device(const CommunicatorState& state, int device, const char* what) {
    const std::vector<int>& devices = state.options().devices;
    const auto found = std::find(devices.begin(), devices.end(), device);
    if (found == devices.end()) {
        throw InvalidArgument(
            fmt::format("{} {} is not in the communicator, which has {}", what, device, devices));
    }
    return static_cast<std::uint32_t>(found - devices.begin());
}

}  // namespace

bool Communicator::covers_all(const std::vector<int>& devices) const {
    return std::ranges::all_of(state().options().devices, [&](int device) {
        return std::find(devices.begin(), devices.end(), device) != devices.end();
    });
}

void Communicator::check_component(int device, std::size_t rank, std::size_t size,
                                   std::size_t expected) const {
    const int own = state().machine().device(static_cast<std::uint32_t>(rank)).value();
    if (device != own) {
        throw InvalidArgument(fmt::format("component {} of a value is on device {}, the rank on {}",
                                          rank, device, own));
    }
    if (size != expected) {
        throw InvalidArgument(fmt::format("component {} of a value has {} elements, the first {}",
                                          rank, size, expected));
    }
}

std::vector<int> Communicator::result_devices(const Destinations& destinations) const {
    if (destinations.devices().empty()) {
        throw InvalidArgument("destinations can not be empty");
    }
    std::vector<int> devices;
    for (const int device : destinations.devices()) {
        rank_of_device(state(), device, "destination device");
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
            devices.push_back(device);
        }
    }
    return devices;
}

void Communicator::reduce_into(Call call, std::span<const View> inputs,
                               std::span<const View> outputs, const CallOptions& options) {
    state().throw_if_unusable();
    const Machine& machine = state().machine();
    check_options(options, machine.ranks(), call.op);
    if (inputs.empty()) {
        throw InvalidArgument("a value without components can not be reduced");
    }
    if (inputs.size() == 1) {  // the reduction of one value is the value
        call.collective = Collective::broadcast;
        call.op = ReduceOp::sum;
        call.root = rank_of_device(state(), inputs[0].device, "the value's device");
    } else if (inputs.size() != machine.ranks()) {
        throw InvalidArgument(
            fmt::format("{} inputs were given for {} ranks", inputs.size(), machine.ranks()));
    }
    call.count = inputs[0].size;
    std::vector<RankBuffers> buffers(machine.ranks());
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const void* input = inputs.size() == 1 ? nullptr : inputs[rank].data;
        buffers[rank] = buffers_of(options, rank, input, nullptr);
        if (inputs.size() != 1) {
            check_component(inputs[rank].device, rank, inputs[rank].size, call.count);
        }
    }
    if (inputs.size() == 1) {
        buffers[call.root].input = inputs[0].data;
    }
    std::vector<std::uint32_t> destinations;
    for (const View& output : outputs) {
        const std::uint32_t rank = rank_of_device(state(), output.device, "destination device");
        buffers[rank].output = output.data;
        destinations.push_back(rank);
    }
    if (call.collective == Collective::reduce) {
        call.root = destinations.front();
    }
    std::ranges::sort(destinations);
    if (call.collective == Collective::reduce && destinations.size() == machine.ranks()) {
        call.collective = Collective::all_reduce;
        call.root = 0;
    } else {
        call.destinations = destinations;
    }
    apply(call, options, state());
    Work work = enqueue_all(call, buffers);
    if (options.work != nullptr) {
        *options.work = std::move(work);
    }
}

void Communicator::run_batch(Call call, std::span<const detail::Segment> segments,
                             std::size_t segments_per_rank, const CallOptions& options) {
    state().throw_if_unusable();
    const std::uint32_t ranks = state().ranks();
    check_options(options, ranks, call.op);
    apply(call, options, state());
    // Their addresses travel through pinned memory, of which there is so much.
    const std::size_t most = state().most_segments();
    Work work;
    for (std::size_t first = 0; first < segments_per_rank; first += most) {
        const std::size_t count = std::min(most, segments_per_rank - first);
        std::vector<RankBuffers> buffers(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            buffers[rank] = buffers_of(options, rank, nullptr, nullptr);
            buffers[rank].segments = segments.subspan(rank * segments_per_rank + first, count);
        }
        call.count = 0;
        for (const detail::Segment& segment : buffers[0].segments) call.count += segment.count;
        work = enqueue_all(call, buffers);  // behind the one before, so the last tells the end
    }
    if (options.work != nullptr) {
        *options.work = std::move(work);
    }
}

}  // namespace rondo
