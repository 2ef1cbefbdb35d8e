// The typed API without its types.
#include "rondo/communicator.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "communicator/call_options.hpp"
#include "communicator/core.hpp"

namespace rondo {

using detail::buffers_of;
using detail::Call;
using detail::check_options;
using detail::Core;
using detail::RankBuffers;
using detail::View;

std::vector<View>& detail::view_storage(bool output) {
    static thread_local std::vector<View> lists[2];
    lists[output].clear();
    return lists[output];
}

std::shared_ptr<void> detail::allocate_device_memory(int device, std::size_t bytes) {
    return {memory::allocate_device(DeviceId(device), bytes), memory::FreeDevice{DeviceId(device)}};
}

namespace {

std::uint32_t checked_rank(const Core& core, int rank, const char* what) {
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= core.machine().ranks()) {
        throw InvalidArgument(
            fmt::format("{} is {}; there are {} ranks", what, rank, core.machine().ranks()));
    }
    return static_cast<std::uint32_t>(rank);
}

}  // namespace

// ---- Work

Work::Work(std::shared_ptr<Core> core, detail::Pending* first)
    : core_(std::move(core)), first_(first) {}

Work::Work(Work&& other) noexcept
    : core_(std::move(other.core_)), first_(std::exchange(other.first_, nullptr)) {}

Work& Work::operator=(Work&& other) noexcept {
    if (this != &other) {
        release();
        core_ = std::move(other.core_);
        first_ = std::exchange(other.first_, nullptr);
    }
    return *this;
}

Work::~Work() {
    release();
}

void Work::release() noexcept {
    while (first_ != nullptr) {
        detail::Pending* const ended = std::exchange(first_, first_->next);
        ended->leave_work();
    }
}

void Work::wait() {
    if (core_ == nullptr) {
        return;
    }
    for (const detail::Pending* pending = first_; pending != nullptr; pending = pending->next) {
        core_->wait(*pending);
    }
    core_->throw_if_failed();
}

bool Work::query() const {
    for (const detail::Pending* pending = first_; pending != nullptr; pending = pending->next) {
        if (!core_->ready(*pending)) {
            return false;
        }
    }
    return true;
}

std::exception_ptr Work::error() const {
    return core_ == nullptr ? nullptr : core_->failure().get();
}

// ---- RankHandle

int RankHandle::device() const {
    return core_->machine().device(rank_).value();
}

std::uint64_t RankHandle::count_of_all(std::uint64_t count) const {
    if (count > (std::uint64_t{1} << 62) / core_->machine().ranks()) {
        throw InvalidArgument(
            fmt::format("{} elements of each of {} ranks are more than memory can hold", count,
                        core_->machine().ranks()));
    }
    return count * core_->machine().ranks();
}

Work RankHandle::run(Call call, const void* input, void* output, const CallOptions& options) const {
    core_->throw_if_unusable();
    check_options(options, 1, call.op);
    apply(call, options, *core_);
    const RankBuffers buffers = buffers_of(options, 0, input, output);
    core_->check_call(call);
    core_->check_buffers(call, rank_, {&buffers, 1});
    const detail::PlannedCall plan = core_->plan_for(call);
    return {core_,
            core_->keeping_device([&] { return core_->enqueue(call, plan, rank_, buffers); })};
}

Work RankHandle::run_rooted(Call call, const void* input, void* output, int root,
                            const CallOptions& options) const {
    call.root = checked_rank(*core_, root, "root");
    const std::uint32_t destination = call.root;
    if (call.collective == Collective::reduce) {
        call.destinations = std::span(&destination, 1);
    }
    return run(call, input, output, options);
}

Work RankHandle::run_link(ElementType type, const void* input, void* output, std::uint64_t count,
                          int from, int to, const CallOptions& options) const {
    core_->throw_if_unusable();
    const std::uint32_t sender = checked_rank(*core_, from, "the sending rank");
    const std::uint32_t receiver = checked_rank(*core_, to, "the receiving rank");
    if (sender == receiver) {
        throw InvalidArgument(fmt::format("rank {} can not send to itself", sender));
    }
    static constexpr std::uint32_t receiver_only = 1;
    const RankHandle end(core_->link(sender, receiver), rank_ == sender ? 0 : 1);
    return end.run({.collective = Collective::broadcast,
                    .type = type,
                    .count = count,
                    .destinations = std::span(&receiver_only, 1)},
                   input, output, options);
}

// ---- Communicator

Communicator Communicator::create(const CommunicatorOptions& options) {
    detail::free_released_cores();
    return Communicator(std::make_shared<Core>(options));
}

int Communicator::size() const {
    return static_cast<int>(core_->machine().ranks());
}

int Communicator::device(int rank) const {
    return core_->machine().device(checked_rank(*core_, rank, "rank")).value();
}

std::vector<int> Communicator::devices() const {
    return core_->options().devices;
}

RankHandle Communicator::rank(int rank) const {
    return {core_, checked_rank(*core_, rank, "rank")};
}

std::uint32_t Communicator::add_schedule(const Schedule& schedule) {
    return core_->add_schedule(schedule);
}

Schedule Communicator::schedule_for(Collective collective, ElementType type, ReduceOp op,
                                    std::uint64_t count, const CallOptions& options) const {
    Call call{.collective = collective, .type = type, .op = op, .count = count};
    apply(call, options, *core_);
    return core_->plan_for(call).cached->plan->schedule();
}

Explanation Communicator::explain(Collective collective, ElementType type, std::uint64_t count,
                                  const CallOptions& options) const {
    Call call{.collective = collective, .type = type, .count = count};
    apply(call, options, *core_);
    return core_->explain(call);
}

void Communicator::abort() {
    core_->failure().set(std::make_exception_ptr(AbortedError("abort() was called")));
}

std::exception_ptr Communicator::status() const {
    return core_->failure().get();
}

Work Communicator::enqueue_all(const Call& call, std::span<const RankBuffers> buffers) {
    core_->check_call(call);
    core_->check_buffers(call, 0, buffers);
    const detail::PlannedCall plan = core_->plan_for(call);
    const std::lock_guard lock(Core::launch_mutex());
    return core_->keeping_device([&] {
        Work work(core_, nullptr);
        detail::Pending** next = &work.first_;
        for (std::uint32_t rank = 0; rank < buffers.size(); ++rank) {
            detail::Pending* const pending = core_->enqueue(call, plan, rank, buffers[rank]);
            if (pending != nullptr) {
                *next = pending;
                next = &pending->next;
            }
        }
        return work;
    });
}

Work Communicator::run(Call call, std::span<const View> inputs, std::span<const View> outputs,
                       const CallOptions& options) {
    static thread_local std::vector<RankBuffers> buffers;
    static thread_local std::vector<std::uint64_t> counts;
    core_->throw_if_unusable();
    const Machine& machine = core_->machine();
    check_options(options, machine.ranks(), call.op);
    buffers.clear();
    counts.clear();
    const auto check_list = [&](std::span<const View> views, const char* what) {
        if (views.size() != machine.ranks()) {
            throw InvalidArgument(
                fmt::format("{} {} were given for {} ranks", views.size(), what, machine.ranks()));
        }
        for (std::uint32_t rank = 0; rank < views.size(); ++rank) {
            if (views[rank].device != machine.device(rank).value()) {
                throw InvalidArgument(
                    fmt::format("the {} of rank {} is on device {}, the rank on {}", what, rank,
                                views[rank].device, machine.device(rank).value()));
            }
        }
    };
    check_list(inputs, "inputs");
    check_list(outputs, "outputs");
    const bool gathers = call.collective == Collective::all_gather;
    const bool scatters = call.collective == Collective::reduce_scatter;
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        buffers.push_back(buffers_of(options, rank, inputs[rank].data, outputs[rank].data));
        if (gathers || scatters) {
            counts.push_back((gathers ? inputs : outputs)[rank].size);
        }
    }
    call.count = scatters ? inputs[0].size : outputs[0].size;
    if (gathers || scatters) {
        const std::uint64_t sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        if (sum != call.count) {
            throw InvalidArgument(fmt::format("{}: the parts have {} elements in all, the whole {}",
                                              to_string(call.collective), sum, call.count));
        }
        if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) !=
            counts.end()) {
            call.counts = counts;
        }
    }
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const std::size_t wanted_input = detail::input_count(call, machine.ranks(), rank);
        const std::size_t wanted_output = detail::output_count(call, machine.ranks(), rank);
        if (inputs[rank].size != wanted_input || outputs[rank].size != wanted_output) {
            throw InvalidArgument(fmt::format(
                "rank {} has an input of {} and an output of {} elements; {} and {} were expected",
                rank, inputs[rank].size, outputs[rank].size, wanted_input, wanted_output));
        }
    }
    apply(call, options, *core_);
    return enqueue_all(call, buffers);
}

}  // namespace rondo
