// The typed API without its types.
#include "rondo/communicator.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "communicator/check_call.hpp"
#include "communicator/graph_retention.hpp"
#include "communicator/launcher.hpp"
#include "cuda/runtime.hpp"

namespace rondo {

using detail::buffers_of;
using detail::Call;
using detail::CallRecord;
using detail::check_options;
using detail::CommunicatorState;
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

std::uint32_t checked_rank(const CommunicatorState& state, int rank, const char* what) {
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= state.ranks()) {
        throw InvalidArgument(
            fmt::format("{} is {}; there are {} ranks", what, rank, state.ranks()));
    }
    return static_cast<std::uint32_t>(rank);
}

/// One tensor per rank, on its device.
void check_list(const CommunicatorState& state, std::span<const View> views, const char* what) {
    if (views.size() != state.ranks()) {
        throw InvalidArgument(
            fmt::format("{} {} were given for {} ranks", views.size(), what, state.ranks()));
    }
    for (std::uint32_t rank = 0; rank < views.size(); ++rank) {
        const int own = state.machine().device(rank).value();
        if (views[rank].device != own) {
            throw InvalidArgument(fmt::format("the {} of rank {} is on device {}, the rank on {}",
                                              what, rank, views[rank].device, own));
        }
    }
}

void check_sizes(std::uint32_t rank, const View& input, const View& output,
                 std::uint64_t wanted_input, std::uint64_t wanted_output) {
    if (input.size != wanted_input || output.size != wanted_output) {
        throw InvalidArgument(fmt::format(
            "rank {} has an input of {} and an output of {} elements; {} and {} were expected",
            rank, input.size, output.size, wanted_input, wanted_output));
    }
}

/// The sizes of the parts, and in the call when they differ.
std::vector<std::uint64_t>& set_parts(Call& call, std::span<const View> parts,
                                      std::uint64_t whole) {
    static thread_local std::vector<std::uint64_t> counts;
    counts.clear();
    for (const View& part : parts) counts.push_back(part.size);
    const std::uint64_t sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (sum != whole) {
        throw InvalidArgument(fmt::format("{}: the parts have {} elements in all, the whole {}",
                                          to_string(call.collective), sum, whole));
    }
    if (std::ranges::adjacent_find(counts, std::not_equal_to<>()) != counts.end()) {
        call.counts = counts;
    }
    return counts;
}

}  // namespace

// ---- Work

Work::Work(std::shared_ptr<CommunicatorState> state, CallRecord* first)
    : state_(std::move(state)), first_(first) {}

Work::Work(Work&& other) noexcept
    : state_(std::move(other.state_)), first_(std::exchange(other.first_, nullptr)) {}

Work& Work::operator=(Work&& other) noexcept {
    if (this != &other) {
        release();
        state_ = std::move(other.state_);
        first_ = std::exchange(other.first_, nullptr);
    }
    return *this;
}

Work::~Work() {
    release();
}

void Work::release() noexcept {
    while (first_ != nullptr) {
        CallRecord* const ended = std::exchange(first_, first_->next);
        ended->leave_work();
    }
}

void Work::wait() {
    if (state_ == nullptr) {
        return;
    }
    state_->wait(first_);
    state_->throw_if_failed();
}

bool Work::query() const {
    return state_ == nullptr || state_->ready(first_);
}

std::exception_ptr Work::error() const {
    return state_ == nullptr ? nullptr : state_->failure();
}

// ---- RankHandle

int RankHandle::device() const {
    return state_->machine().device(rank_).value();
}

std::uint64_t RankHandle::count_of_all(std::uint64_t count) const {
    if (count > (std::uint64_t{1} << 62) / state_->ranks()) {
        throw InvalidArgument(
            fmt::format("{} elements of each of {} ranks are more than memory can hold", count,
                        state_->ranks()));
    }
    return count * state_->ranks();
}

Work RankHandle::run(Call call, const void* input, void* output, const CallOptions& options) const {
    state_->throw_if_unusable();
    check_options(options, 1, call.op);
    apply(call, options, *state_);
    const RankBuffers buffers = buffers_of(options, 0, input, output);
    check_call(call, *state_);
    check_buffers(call, rank_, buffers, *state_);
    detail::Launcher launcher(*state_, call);
    launcher.prepare(rank_, {&buffers, 1}, false);
    return {state_, launcher.launch()};
}

Work RankHandle::run_rooted(Call call, const void* input, void* output, int root,
                            const CallOptions& options) const {
    call.root = checked_rank(*state_, root, "root");
    const std::uint32_t destination = call.root;
    if (call.collective == Collective::reduce) {
        call.destinations = std::span(&destination, 1);
    }
    return run(call, input, output, options);
}

// ---- Communicator

Communicator Communicator::create(const CommunicatorOptions& options) {
    require_own_runtime();
    detail::free_released_by_graphs();
    return Communicator(std::make_shared<CommunicatorState>(options));
}

CommunicatorState& Communicator::state() const {
    if (state_ == nullptr) {
        throw InvalidArgument("this communicator was moved from");
    }
    return *state_;
}

int Communicator::size() const {
    return static_cast<int>(state().ranks());
}

int Communicator::device(int rank) const {
    return state().machine().device(checked_rank(state(), rank, "rank")).value();
}

std::vector<int> Communicator::devices() const {
    return state().options().devices;
}

RankHandle Communicator::rank(int rank) const {
    return {state_, checked_rank(state(), rank, "rank")};
}

std::uint32_t Communicator::add_schedule(const Schedule& schedule) {
    require_verified(schedule);
    if (schedule.ranks != state().ranks()) {
        throw InvalidArgument(fmt::format("the schedule '{}' is for {} ranks; there are {}",
                                          schedule.name, schedule.ranks, state().ranks()));
    }
    return state().plans().add_schedule(schedule);
}

/// The root of what is asked about.
constexpr std::uint32_t first_rank[]{0};

Schedule Communicator::schedule_for(Collective collective, ElementType type, ReduceOp op,
                                    std::uint64_t count, const CallOptions& options) const {
    Call call{.collective = collective, .type = type, .op = op, .count = count};
    if (collective == Collective::reduce) call.destinations = first_rank;
    apply(call, options, state());
    check_call(call, state());
    return state().plans().find(call)->plan().schedule;
}

Explanation Communicator::explain(Collective collective, ElementType type, std::uint64_t count,
                                  const CallOptions& options) const {
    Call call{.collective = collective, .type = type, .count = count};
    if (collective == Collective::reduce) call.destinations = first_rank;
    apply(call, options, state());
    check_call(call, state());
    const Plan plan = state().plans().planner().explain(state().plans().request_of(call));
    Explanation result{.strategy = plan.strategy,
                       .blocks = plan.blocks,
                       .seconds = plan.seconds,
                       .reason = plan.reason};
    for (const PlanCandidate& candidate : plan.candidates) {
        if (!candidate.problem.empty() || candidate.strategy == plan.strategy) continue;
        result.runner_up = candidate.strategy;
        result.runner_up_seconds = candidate.seconds;
        break;
    }
    return result;
}

void Communicator::abort() {
    state().fail(std::make_exception_ptr(AbortedError("abort() was called")));
}

std::exception_ptr Communicator::status() const {
    return state().failure();
}

Work Communicator::enqueue_all(const Call& call, std::span<const RankBuffers> buffers) {
    check_call(call, state());
    for (std::uint32_t rank = 0; rank < buffers.size(); ++rank) {
        Call own = call;
        if (!buffers[rank].send_counts.empty()) {
            own.counts = buffers[rank].send_counts;
            own.receive_counts = buffers[rank].receive_counts;
            own.count = std::accumulate(own.counts.begin(), own.counts.end(), std::uint64_t{0});
        }
        check_buffers(own, rank, buffers[rank], state());
    }
    detail::Launcher launcher(state(), call);
    launcher.prepare(0, buffers, true);
    const std::lock_guard lock(detail::launch_mutex());
    return {state_, launcher.launch()};
}

Work Communicator::run(Call call, std::span<const View> inputs, std::span<const View> outputs,
                       const CallOptions& options) {
    static thread_local std::vector<RankBuffers> buffers;
    state().throw_if_unusable();
    const std::uint32_t ranks = state().ranks();
    check_options(options, ranks, call.op);
    check_list(state(), inputs, "inputs");
    check_list(state(), outputs, "outputs");
    const bool gathers = call.collective == Collective::all_gather;
    const bool scatters = call.collective == Collective::reduce_scatter;
    call.count = scatters ? inputs[0].size : outputs[0].size;
    if (gathers || scatters) set_parts(call, gathers ? inputs : outputs, call.count);
    if (call.collective == Collective::all_to_all && call.count % ranks != 0) {
        throw InvalidArgument(
            fmt::format("{} elements can't be {} parts of one length", call.count, ranks));
    }
    buffers.clear();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        check_sizes(rank, inputs[rank], outputs[rank], detail::input_count(call, ranks, rank),
                    detail::output_count(call, ranks, rank));
        buffers.push_back(buffers_of(options, rank, inputs[rank].data, outputs[rank].data));
    }
    apply(call, options, state());
    return enqueue_all(call, buffers);
}

Work Communicator::run_all_to_all(Call call, std::span<const View> inputs,
                                  std::span<const View> outputs,
                                  std::span<const std::uint64_t> counts,
                                  const CallOptions& options) {
    state().throw_if_unusable();
    const std::uint32_t ranks = state().ranks();
    check_options(options, ranks, call.op);
    check_list(state(), inputs, "inputs");
    check_list(state(), outputs, "outputs");
    if (counts.size() != std::size_t{ranks} * ranks) {
        throw InvalidArgument(
            fmt::format("{} counts were given for {} x {} parts", counts.size(), ranks, ranks));
    }
    std::vector<std::uint64_t> received(counts.size());  // [to][from]
    for (std::uint32_t from = 0; from < ranks; ++from) {
        for (std::uint32_t to = 0; to < ranks; ++to) {
            received[to * ranks + from] = counts[from * ranks + to];
        }
    }
    std::vector<RankBuffers> buffers;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        RankBuffers own = buffers_of(options, rank, inputs[rank].data, outputs[rank].data);
        own.send_counts = counts.subspan(rank * ranks, ranks);
        own.receive_counts = std::span(received).subspan(rank * ranks, ranks);
        const auto sum = [](std::span<const std::uint64_t> list) {
            return std::accumulate(list.begin(), list.end(), std::uint64_t{0});
        };
        check_sizes(rank, inputs[rank], outputs[rank], sum(own.send_counts),
                    sum(own.receive_counts));
        buffers.push_back(own);
    }
    call.counts = buffers[0].send_counts;
    call.receive_counts = buffers[0].receive_counts;
    apply(call, options, state());
    return enqueue_all(call, buffers);
}

/// gather and scatter: one rank has the whole.
Work Communicator::run_rooted(Call call, std::span<const View> inputs,
                              std::span<const View> outputs, const CallOptions& options) {
    state().throw_if_unusable();
    const std::uint32_t ranks = state().ranks();
    check_options(options, ranks, call.op);
    const bool gathers = call.collective == Collective::gather;
    const std::span<const View> parts = gathers ? inputs : outputs;
    const View& whole = gathers ? outputs[0] : inputs[0];
    check_list(state(), parts, gathers ? "inputs" : "outputs");
    const auto& devices = state().options().devices;
    const auto root = std::ranges::find(devices, whole.device);
    if (root == devices.end()) {
        throw InvalidArgument(fmt::format("device {} is not in the communicator", whole.device));
    }
    call.root = static_cast<std::uint32_t>(root - devices.begin());
    call.count = whole.size;
    set_parts(call, parts, whole.size);
    std::vector<RankBuffers> buffers;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        void* const own = rank == call.root ? whole.data : nullptr;
        buffers.push_back(buffers_of(options, rank, gathers ? parts[rank].data : own,
                                     gathers ? own : parts[rank].data));
    }
    apply(call, options, state());
    return enqueue_all(call, buffers);
}

Work Communicator::barrier(const CallOptions& options) {
    state().throw_if_unusable();
    check_options(options, state().ranks(), ReduceOp::sum);
    Call call{.collective = Collective::all_reduce, .type = ElementType::u8};
    std::vector<RankBuffers> buffers;
    for (std::uint32_t rank = 0; rank < state().ranks(); ++rank) {
        buffers.push_back(buffers_of(options, rank, nullptr, nullptr));
    }
    apply(call, options, state());
    return enqueue_all(call, buffers);
}

}  // namespace rondo
