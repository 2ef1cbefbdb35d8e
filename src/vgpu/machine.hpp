// One virtual machine: its devices, memory, streams, faults and scheduler. reset() replaces it as a
// whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "topology/graph/topology.hpp"
#include "vgpu/call_count.hpp"
#include "vgpu/control.hpp"
#include "vgpu/device.hpp"
#include "vgpu/event_table.hpp"
#include "vgpu/faults.hpp"
#include "vgpu/graph.hpp"
#include "vgpu/memory.hpp"
#include "vgpu/scheduler.hpp"
#include "vgpu/stream.hpp"

namespace vgpu {

class Machine {
public:
    /// Throws when the topology can't be read.
    Machine(const Options& options, std::uint64_t generation);
    ~Machine();

    const Options& options() const { return options_; }
    std::uint64_t generation() const { return generation_; }
    int device_count() const { return static_cast<int>(devices_.size()); }
    Device& device(int index) { return *devices_[static_cast<std::size_t>(index)]; }
    MemoryMap& memory() { return memory_; }
    Faults& faults() { return faults_; }
    Scheduler& scheduler() { return *scheduler_; }

    /// Whether the hardware lets kernels on `from` touch memory of `to` (topology and faults).
    bool can_access_peer(int from, int to) const;
    /// How many of the device's peers have a faster connection than `to` (counting equal ones
    /// once).
    int peer_rank(int from, int to) const;
    /// Joined by NVLink, XGMI or one memory, not by PCI.
    bool directly_linked(int from, int to) const { return direct_links_.peer_access(from, to); }

    /// Tells running blocks whether they are checked, disturbed or scheduled at random. After any
    /// change of options or faults.
    void update_instrumentation() const;
    /// Marks the device's context as broken, ends its blocks and keeps the report.
    void fail_device(int device, cudaError_t error, std::string report);
    /// Copies, honouring cut and slowed links.
    cudaError_t run_copy(const CopyCommand& copy);
    /// Returns stream-ordered memory to its pool. With the scheduler's lock held; the host gets it
    /// back at the next MemoryMap::give_back_detached().
    void release_pool_memory(void* pointer);
    /// The pool has so many bytes less in use; it goes if it was destroyed and these were the last.
    /// With the lock held.
    void return_to_pool(MemoryPool& pool, std::uint64_t bytes);
    /// Gives what the pool holds beyond `keep` (and beyond what is in use) back to the device. With
    /// the lock held.
    void trim_pool(MemoryPool& pool, std::uint64_t keep);
    /// Drops references; the last one to an object has its destructor run by the thread for host
    /// functions. With the lock held.
    void release_objects(const ObjectReferences& references);
    void set_report(std::string text);
    std::string report() const;
    std::string take_report();

    // Handles; the scheduler's lock must be held.
    std::unordered_map<Stream*, std::unique_ptr<Stream>> streams;
    EventTable events;
    std::unordered_map<MemoryPool*, std::unique_ptr<MemoryPool>> pools;
    GraphTable graphs;
    std::uint64_t next_id = 1;

    std::atomic<std::uint64_t> allocations{0}, frees{0}, copies{0};
    const std::uint64_t calls_before = CallCount::of_all_threads();  ///< the machine was made
    std::atomic<unsigned> captures{
        0};  ///< captures in progress; while 0, no call needs to look for them
    std::vector<Capture*> active_captures;  ///< guarded by the scheduler's lock

private:
    void make_device(int index);
    std::int64_t peer_bandwidth(int from, int to) const;

    Options options_;
    std::uint64_t generation_;
    rondo::Topology topology_;
    rondo::Topology direct_links_;  // the same without peer access over PCI
    MemoryMap memory_;
    Faults faults_;
    std::vector<std::unique_ptr<Device>> devices_;
    mutable std::mutex report_mutex_;
    std::string report_;
    std::unique_ptr<Scheduler> scheduler_;
};

namespace detail {
extern std::atomic<Machine*> in_force;
Machine& make_from_environment();
}  // namespace detail

/// As machine(), or null when nothing has used it yet.
inline Machine* machine_if_any() noexcept {
    return detail::in_force.load(std::memory_order_acquire);
}
/// The environment asks for a machine that can't be made. Calls of the API return
/// cudaErrorInitializationError then: no argument of theirs is wrong, and none can succeed.
struct MachineError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The machine in force; made from the environment at first use. Throws MachineError when that
/// fails; the first time it also writes the reason to stderr.
inline Machine& machine() {
    Machine* const current = machine_if_any();
    return current != nullptr ? *current : detail::make_from_environment();
}

/// What is wrong with the environment, once a call has failed because of it; else null.
const char* why_no_machine();

/// Replaces the machine in force. See vgpu::reset().
void replace_machine(const Options& options);

/// Kernels are known to the process, not to a machine. Null when `entry` is unknown.
Kernel* find_kernel(const void* entry);

}  // namespace vgpu
