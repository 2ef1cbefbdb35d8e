// What every API function shares: counting, faults, last-error rules, and looking up handles.
#pragma once

#include <cuda_runtime_api.h>

#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "vgpu/call_record.hpp"
#include "vgpu/machine.hpp"
#include "vgpu/thread_state.hpp"

namespace vgpu {

/// How API bodies fail: the code that the call returns, and why in words
/// (vgpu::last_error_detail()).
struct ApiError {
    cudaError_t code;
    std::string detail;
};

/// The outcome of a call: remembered as the thread's last error unless it is cudaSuccess.
cudaError_t conclude(const char* function, cudaError_t code, std::string detail);
/// Faults, calls from host functions: what a call must return without doing anything. cudaSuccess
/// if it may go on.
inline cudaError_t before_call(Machine& machine, const char* function) {
    ThreadState& thread = this_thread();
    if (thread.in_host_function) return cudaErrorNotPermitted;
    thread.calls.add();
    if (!thread.in_driver) thread.runtime_used = true;
    note_call(function, thread.device);
    return machine.faults().on_call(function).value_or(cudaSuccess);
}

/// Runs the body of an API function.
template <class Body>
cudaError_t api(const char* function, Body&& body) noexcept {
    try {
        Machine& all = machine();
        if (const cudaError_t early = before_call(all, function); early != cudaSuccess)
            return conclude(function, early, "");
        const cudaError_t code = body(all);
        return code == cudaSuccess ? code : conclude(function, code, "");
    } catch (const ApiError& error) {
        return conclude(function, error.code, error.detail);
    } catch (const MachineError& error) {
        return conclude(function, cudaErrorInitializationError, error.what());
    } catch (const std::bad_alloc&) {
        return conclude(function, cudaErrorMemoryAllocation, "the host has no memory left");
    } catch (const std::exception& error) {
        return conclude(function, cudaErrorUnknown, error.what());
    }
}

/// Throws cudaErrorInvalidValue unless the condition holds.
inline void require(bool condition, const char* detail) {
    if (!condition) throw ApiError{cudaErrorInvalidValue, detail};
}

[[noreturn]] void throw_no_such_device(const Machine& machine, int ordinal);
[[noreturn]] void throw_sticky_error(const Device& device);

/// A device by ordinal; throws cudaErrorInvalidDevice.
inline Device& device_at(Machine& machine, int ordinal) {
    if (ordinal < 0 || ordinal >= machine.device_count()) throw_no_such_device(machine, ordinal);
    return machine.device(ordinal);
}
/// Throws the device's sticky error, if it has one.
inline void require_healthy(const Device& device) {
    if (device.sticky_error.load() != cudaSuccess) throw_sticky_error(device);
}
/// The calling thread's device; throws its sticky error.
inline Device& current_device(Machine& machine) {
    Device& device = device_at(machine, this_thread().device);
    require_healthy(device);
    return device;
}
/// The call allocated or freed.
inline void count_allocation(Machine& machine) {
    note_effect(CallEffect::allocates);
    machine.allocations.fetch_add(1, std::memory_order_relaxed);
}
inline void count_free(Machine& machine) {
    note_effect(CallEffect::frees);
    machine.frees.fetch_add(1, std::memory_order_relaxed);
}
/// Counts bytes against the device's memory; throws cudaErrorMemoryAllocation when they do not fit.
void reserve_memory(Device& device, std::size_t bytes);

/// While one lives, the thread's calls come from code compiled for per-thread default streams.
class PerThreadDefault {
public:
    PerThreadDefault() : before_(std::exchange(this_thread().per_thread_default, true)) {}
    ~PerThreadDefault() { this_thread().per_thread_default = before_; }
    PerThreadDefault(const PerThreadDefault&) = delete;
    PerThreadDefault& operator=(const PerThreadDefault&) = delete;

private:
    bool before_;
};

// ---- with the scheduler's lock held
// --------------------------------------------------------------------------------------
/// Any stream handle. 0 is the legacy default stream, or the thread's own inside a PerThreadDefault
/// scope. Throws cudaErrorInvalidResourceHandle, or the sticky error of the stream's device.
Stream& stream_at(Machine& machine, cudaStream_t handle);
const std::shared_ptr<Event>& event_at(Machine& machine, cudaEvent_t handle);

/// Throws cudaErrorStreamCaptureUnsupported and invalidates the captures concerned when this thread
/// may not make a potentially unsafe call now.
void forbid_while_capturing(Machine& machine);
/// The same for a call that names a stream: none may be made on a stream that captures.
void forbid_on_capturing(Stream& stream);

/// Puts an operation, which has its command and nothing else, into the stream's order; while the
/// stream captures, its command becomes a node.
void issue(Machine& machine, Stream& stream, OperationPtr&& operation,
           std::span<const OperationPtr> also_after = {});
/// The same for a command. Returns its operation, or null while the stream captures.
OperationPtr issue(Machine& machine, Stream& stream, Command&& command,
                   std::span<const OperationPtr> also_after = {});
/// Whether everything that a next operation of the stream would wait for is done when its tail is.
bool tail_says_all(Machine& machine, const Stream& stream);
/// Ends a capture without a graph: its streams work normally again.
void abandon_capture(Machine& machine, Capture& capture);
/// Last operations of all streams of a device: when they are done, the device is idle.
std::vector<OperationPtr> tails_of(Device& device);

// ---- without
// ---------------------------------------------------------------------------------------------------------------
/// Waits, drops the operations, then throws the device's sticky error if it has one.
void wait_for(Machine& machine, std::span<OperationPtr> operations, const Device& device);
void wait_for_device(Machine& machine, Device& device);

/// Every call in which a driver may synchronise says so before it does its work: in hostile mode it
/// then waits for all work of the device. Devices in an error state are not waited for.
void may_synchronise(Machine& machine, Device& device);
/// The same for calls that concern all devices: host memory, and memory that peers have mapped.
void may_synchronise_all(Machine& machine);

}  // namespace vgpu
