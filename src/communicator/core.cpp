// Makes plans, enqueues calls, keeps them in order and remembers what went wrong.
#include "communicator/core.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "communicator/failure.hpp"
#include "cuda/check.hpp"
#include "cuda/copy.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/graph.hpp"
#include "kernels/launch.hpp"
#include "kernels/program_numbers.hpp"

namespace rondo::detail {
namespace {

CommunicatorOptions complete(CommunicatorOptions options) {
    if (options.devices.empty()) {
        for (const DeviceId device : all_devices()) options.devices.push_back(device.value());
    }
    const Tuning& tuning = options.tuning;
    if (options.timeout.count() < 0) {
        throw InvalidArgument(
            fmt::format("timeout is {} ns; it must not be negative", options.timeout.count()));
    }
    if (tuning.lanes > kernels::max_lanes) {
        throw InvalidArgument(fmt::format("tuning.lanes is {}; it must be 0 to {}", tuning.lanes,
                                          kernels::max_lanes));
    }
    if ((tuning.depth & (tuning.depth - 1)) != 0 || tuning.depth > 1024) {
        throw InvalidArgument(fmt::format(
            "tuning.depth is {}; it must be 0 or a power of two up to 1024", tuning.depth));
    }
    if (tuning.slot_bytes % 64 != 0) {
        throw InvalidArgument(
            fmt::format("tuning.slot_bytes is {}; it must be a multiple of 64", tuning.slot_bytes));
    }
    return options;
}

/// A graph keeps what it runs alive: the communicator with all its plans.
void retain_in_graph(StreamRef stream, std::shared_ptr<Core> core) {
    auto owner = std::make_unique<std::shared_ptr<Core>>(std::move(core));
    cudaUserObject_t object = nullptr;
    check(cudaUserObjectCreate(
              &object, owner.get(),
              [](void* data) { delete static_cast<std::shared_ptr<Core>*>(data); }, 1,
              cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate");
    owner.release();
    check(
        cudaGraphRetainUserObject(graph_being_captured(stream), object, 1, cudaGraphUserObjectMove),
        "cudaGraphRetainUserObject");
}

}  // namespace

std::uint64_t input_count(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    switch (call.collective) {
        case Collective::all_gather:
            return call.counts.empty() ? call.count / ranks : call.counts[rank];
        case Collective::broadcast:
            return rank == call.root ? call.count : 0;
        default:
            return call.count;
    }
}

std::uint64_t output_count(const Call& call, std::uint32_t ranks, std::uint32_t rank) {
    if (call.collective == Collective::reduce_scatter) {
        return call.counts.empty() ? call.count / ranks : call.counts[rank];
    }
    const bool wanted = call.destinations.empty() ||
                        std::find(call.destinations.begin(), call.destinations.end(), rank) !=
                            call.destinations.end();
    return wanted ? call.count : 0;
}

Core::Core(const CommunicatorOptions& options)
    : options_(complete(options)),
      machine_(options_.devices),
      connections_(machine_),
      next_flag_number_(kernels::first_program_flag) {
    for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
        records_.push_back(std::make_unique<RankRecord>());
    }
    load_kernels();
}

/// Loading may wait for running kernels, so it happens before there are any.
void Core::load_kernels() const {
    for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
        const DeviceGuard guard(machine_.device(rank));
        for (const ElementType type : all_element_types) {
            for (const ReduceOp op : all_reduce_ops) {
                cudaFuncAttributes attributes{};
                check(cudaFuncGetAttributes(&attributes,
                                            kernels::find_program_kernel(type, op).entry),
                      "cudaFuncGetAttributes");
            }
        }
    }
}

Core::~Core() {
    for (const auto& record : records_) {
        if (record->last != nullptr) {
            try {
                record->last->event.synchronize();
            } catch (const Error&) {
                // Whoever waited for the call has been told.
            }
        }
    }
}

std::mutex& Core::launch_mutex() {
    static std::mutex mutex;
    return mutex;
}

const CachedPlan& Core::plan_for(const Call& call) {
    const PlanKey key = key_of(call);
    const std::lock_guard lock(plans_mutex_);
    const std::uint64_t hash = key.hash();
    for (const auto& cached : plans_) {
        if (cached->hash == hash && cached->key == key) {
            return *cached;
        }
    }
    const RelaxedCaptureMode relaxed;
    auto cached = std::make_unique<CachedPlan>();
    cached->destinations.assign(key.destinations.begin(), key.destinations.end());
    cached->counts.assign(key.counts.begin(), key.counts.end());
    cached->key = key;
    cached->key.destinations = cached->destinations;
    cached->key.counts = cached->counts;
    cached->hash = hash;
    cached->plan = std::make_unique<Plan>(machine_, build_schedule(key),
                                          PlanOptions{.slot_bytes = key.slot_bytes,
                                                      .first_epoch = options_.tuning.first_epoch,
                                                      .first_flag_number = next_flag_number_});
    next_flag_number_ += cached->plan->flag_count();
    plans_.push_back(std::move(cached));
    return *plans_.back();
}

std::uint32_t Core::add_schedule(Schedule schedule) {
    require_verified(schedule);
    if (schedule.ranks != machine_.ranks()) {
        throw InvalidArgument(fmt::format("the schedule '{}' is for {} ranks; there are {}",
                                          schedule.name, schedule.ranks, machine_.ranks()));
    }
    const std::lock_guard lock(plans_mutex_);
    schedules_.push_back(std::move(schedule));
    return static_cast<std::uint32_t>(schedules_.size());
}

std::byte* Core::Staging::reserve(DeviceId device, std::size_t bytes) {
    if (buffers.empty() || buffers.back().size() < bytes) {
        const RelaxedCaptureMode relaxed;
        const std::size_t before = buffers.empty() ? 0 : buffers.back().size();
        buffers.emplace_back(device, std::max(bytes, 2 * before));
    }
    return buffers.back().device_span(device).data();
}

kernels::ProgramArguments Core::arguments_of(const Call& call, const CachedPlan& cached,
                                             std::uint32_t rank, const RankBuffers& buffers) const {
    kernels::ProgramArguments arguments;
    connections_.fill(arguments, rank);
    const Cut cut = cached.plan->cut(call.count, size_of(call.type));
    arguments.program = cached.plan->program(rank);
    arguments.input = buffers.input;
    arguments.output = buffers.output;
    arguments.signature = {.count = call.count,
                           .plan = cached.hash,
                           .sequence = 0,
                           .root = call.root,
                           .collective = static_cast<std::uint8_t>(call.collective),
                           .type = static_cast<std::uint8_t>(call.type),
                           .op = static_cast<std::uint8_t>(call.op),
                           .padding = 0,
                           .ranks = machine_.ranks()};
    if (call.op == ReduceOp::premul_sum) {
        arguments.factor = kernels::argument_bits(call.type, buffers.factor);
        arguments.one = kernels::argument_bits(call.type, 1);
    }
    arguments.share = cut.share;
    arguments.extra_shares = cut.extra_shares;
    arguments.grain = cut.grain;
    arguments.chunk = cut.chunk;
    arguments.chunks = cut.chunks;
    arguments.divisor = call.op == ReduceOp::mean ? machine_.ranks() : 0;
    arguments.timeout_ns = static_cast<std::uint64_t>(options_.timeout.count());
    return arguments;
}

Pending* Core::enqueue(const Call& call, const CachedPlan& cached, std::uint32_t rank,
                       const RankBuffers& buffers) try {
    const DeviceId device = machine_.device(rank);
    const StreamRef stream(device, buffers.stream);
    RankRecord& record = *records_[rank];
    const std::lock_guard lock(record.mutex);
    const bool capturing = stream.capturing();
    if (!capturing && record.last != nullptr && !(record.last->stream == stream)) {
        stream.wait(record.last->event);
    }
    kernels::ProgramArguments arguments = arguments_of(call, cached, rank, buffers);
    const std::size_t element = size_of(call.type);
    const std::size_t input_bytes = input_count(call, machine_.ranks(), rank) * element;
    const std::size_t output_bytes = output_count(call, machine_.ranks(), rank) * element;
    if (cached.plan->input_is_staged(rank) && input_bytes != 0) {
        void* const staged = record.input.reserve(device, input_bytes);
        check(cudaMemcpyAsync(staged, buffers.input, input_bytes, cudaMemcpyDefault, stream.get()),
              "cudaMemcpyAsync to staging");
        arguments.input = staged;
    }
    const bool output_staged = cached.plan->output_is_staged(rank) && output_bytes != 0;
    if (output_staged) {
        arguments.output = record.output.reserve(device, output_bytes);
    }
    const unsigned lanes = cached.plan->lanes(rank);
    kernels::launch(kernels::find_program_kernel(call.type, call.op), arguments, stream,
                    {.blocks = lanes, .cooperative = lanes > 1});
    if (output_staged) {
        check(cudaMemcpyAsync(buffers.output, arguments.output, output_bytes, cudaMemcpyDefault,
                              stream.get()),
              "cudaMemcpyAsync from staging");
    }
    if (capturing) {
        retain_in_graph(stream, shared_from_this());
        return nullptr;
    }
    Pending* const pending = take(rank);
    pending->stream = stream;
    pending->event.record(stream);
    if (record.last != nullptr) {
        release_locked(record, record.last);
    }
    record.last = pending;
    pending->references = 2;
    return pending;
} catch (...) {
    fail(std::current_exception());
    throw;
}

Pending* Core::take(std::uint32_t rank) {
    RankRecord& record = *records_[rank];
    if (record.free == nullptr) {
        record.pool.push_back(std::make_unique<Pending>(machine_.device(rank)));
        record.pool.back()->rank = rank;
        return record.pool.back().get();
    }
    Pending* const pending = record.free;
    record.free = pending->next_free;
    return pending;
}

void Core::release_locked(RankRecord& record, Pending* pending) noexcept {
    if (--pending->references == 0) {
        pending->next = nullptr;
        pending->next_free = record.free;
        record.free = pending;
    }
}

void Core::release(Pending* pending) noexcept {
    RankRecord& record = *records_[pending->rank];
    const std::lock_guard lock(record.mutex);
    release_locked(record, pending);
}

void Core::wait(const Pending& pending) try { pending.event.synchronize(); } catch (...) {
    fail(std::current_exception());
    throw;
}

bool Core::ready(const Pending& pending) try { return pending.event.ready(); } catch (...) {
    fail(std::current_exception());
    return true;
}

void Core::fail(std::exception_ptr cause) noexcept {
    {
        const std::lock_guard lock(failure_mutex_);
        if (failure_ == nullptr) {
            failure_ = std::move(cause);
        }
        failed_.store(true, std::memory_order_release);
    }
    connections_.abort();
}

void Core::abort() {
    fail(std::make_exception_ptr(AbortedError("abort() was called")));
}

std::exception_ptr Core::failure() {
    if (!failed_.load(std::memory_order_acquire)) {
        try {
            throw_reported_failure(machine_, connections_,
                                   [this](std::uint32_t number) { return describe_flag(number); });
        } catch (...) {
            fail(std::current_exception());
        }
    }
    const std::lock_guard lock(failure_mutex_);
    return failure_;
}

void Core::throw_if_failed() {
    if (const std::exception_ptr cause = failure()) {
        std::rethrow_exception(cause);
    }
}

void Core::throw_if_unusable() {
    try {
        throw_if_failed();
    } catch (const std::exception& cause) {
        throw AbortedError(fmt::format(
            "this communicator is unusable since an earlier call failed: {}", cause.what()));
    }
}

std::string Core::describe_flag(std::uint32_t number) {
    const std::lock_guard lock(plans_mutex_);
    for (const auto& cached : plans_) {
        const Plan& plan = *cached->plan;
        if (number >= plan.first_flag_number() &&
            number - plan.first_flag_number() < plan.flag_count()) {
            return fmt::format("{} ({} by {})", describe(plan.flag(number)),
                               to_string(plan.schedule().collective), plan.schedule().name);
        }
    }
    return fmt::format("flag {}", number);
}

}  // namespace rondo::detail
