// The device side: what a running block asks for.
#include "vgpu/block.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "vgpu/executor.hpp"
#include "vgpu/machine.hpp"
#include "vgpu/thread_state.hpp"

namespace vgpu {

namespace {

// Work that pays to be spread over threads: in one piece, or in many small ones, between which the
// threads would wait for each other.
constexpr std::size_t large_piece_bytes = 128 * 1024;
constexpr std::size_t large_work_bytes = 512 * 1024;

Block& running_block() {
    Block* block = block_of_this_thread();
    if (block == nullptr) {
        std::fprintf(stderr, "vgpu: device code was called outside a kernel\n");
        std::abort();
    }
    return *block;
}

/// A wait or a signal: the places where a test may have asked for the block's end.
void count_interaction(Block& block) {
    if (block.doomed()) throw BlockKilled{};
    const Faults& faults = block.scheduler->machine().faults();
    if (!faults.any_block_fault()) return;
    const auto end = faults.kill_at(block.info.kernel, block.info.device, block.index);
    if (end && ++block.interactions >= *end) throw BlockKilled{};
}

void give_way(Block& block) {
    block.fiber.suspend();
    if (block.doomed()) throw BlockKilled{};
}

[[noreturn]] void illegal(Block& block, cudaError_t error, const std::string& reason) {
    block.scheduler->machine().fail_device(
        block.info.device, error,
        fmt::format("device {} block {} of kernel {}: {}", block.info.device, block.index,
                    block.info.kernel, reason));
    throw BlockKilled{};
}

}  // namespace

std::string denied(Machine& all, const Allocation& allocation, int device) {
    if (!allocation.is_device() || allocation.device == device) return {};
    if (all.faults().link_is_cut(device, allocation.device)) {
        return fmt::format("the link to device {} is cut", allocation.device);
    }
    if (all.device(allocation.device).lost.load())
        return fmt::format("device {} is lost", allocation.device);
    if (allocation.kind == MemoryKind::pool) {
        if (allocation.pool->access[static_cast<std::size_t>(device)] != 0) return {};
        return fmt::format("pool memory of device {} is not accessible here (cudaMemPoolSetAccess)",
                           allocation.device);
    }
    if (all.device(device).peer_enabled[static_cast<std::size_t>(allocation.device)].load() != 0)
        return {};
    return fmt::format("peer access to device {} is not enabled", allocation.device);
}

const BlockInfo& current_block() noexcept {
    return running_block().info;
}

detail::Instrumentation detail::instrumentation;

WaitOutcome detail::wait_slowly(const FlagWait& wait) {
    Block& block = running_block();
    count_interaction(block);
    if (checking())
        check_access(wait.flag, sizeof(std::uint32_t), Access::read, alignof(std::uint32_t));
    // Member by member: as a whole it would be loaded before its parts are stored.
    block.wait.flag = wait.flag;
    block.wait.wanted = wait.wanted;
    block.wait.deadline_ns = wait.deadline_ns;
    block.wait.abort = wait.abort;
    block.wait.timeout_ns = wait.timeout_ns;
    block.waiting = true;
    if (!block.scheduler->seeded() && can_go_on(block, 0)) {
        block.waiting = false;
        return block.outcome;
    }
    give_way(block);
    if (block.outcome == WaitOutcome::timed_out && block.scheduler->machine().report().empty()) {
        block.scheduler->machine().set_report(
            fmt::format(
                "device {} block {} of kernel {}: reached its deadline waiting for {}\n",
                block.info.device, block.index, block.info.kernel,
                block.scheduler->describe_wait(block.wait, Scheduler::seen_by(block.wait))) +
            block.scheduler->describe());
    }
    return block.outcome;
}

void detail::after_signal_slowly() {
    Block& block = running_block();
    count_interaction(block);
    if (block.scheduler->seeded() && block.scheduler->coin()) give_way(block);
}

void detail::preempt_slowly() {
    Block& block = running_block();
    if (block.doomed()) throw BlockKilled{};
    if (block.scheduler->seeded() && block.scheduler->coin()) give_way(block);
}

void yield_block() {
    Block& block = running_block();
    count_interaction(block);
    give_way(block);
}

void announce_work(std::size_t bytes) {
    Block& block = running_block();
    block.work_bytes += bytes;
    if (bytes < large_piece_bytes && block.work_bytes < large_work_bytes) return;
    block.work_bytes = 0;
    if (!block.scheduler->seeded()) block.scheduler->announce_large_work(bytes);
}

std::uint64_t global_timer_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
}

void check_access(const void* address, std::size_t bytes, Access access, std::size_t alignment) {
    if (bytes == 0) return;
    Block& block = running_block();
    const char* verb = access == Access::read ? "reads" : "writes";
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at % alignment != 0) {
        illegal(block, cudaErrorMisalignedAddress,
                fmt::format("{} {} bytes at {}, which is not a multiple of {}", verb, bytes,
                            address, alignment));
    }
    // Shared memory belongs to the block and is not in the map.
    if (at >= reinterpret_cast<std::uintptr_t>(block.info.dynamic_shared) &&
        at - reinterpret_cast<std::uintptr_t>(block.info.dynamic_shared) <
            block.info.dynamic_shared_bytes) {
        return;
    }
    MemoryMap& memory = block.scheduler->machine().memory();
    const auto allocation = memory.find(address);
    if (!allocation) {
        illegal(
            block, cudaErrorIllegalAddress,
            fmt::format("{} {} bytes at {}: {}", verb, bytes, address, memory.explain(address)));
    }
    if (!allocation->contains(at, bytes)) {
        illegal(
            block, cudaErrorIllegalAddress,
            fmt::format("{} {} bytes at {}: out of bounds: {} bytes past the end of {} bytes of {} "
                        "of device {}",
                        verb, bytes, address, at + bytes - (allocation->begin + allocation->bytes),
                        allocation->bytes, to_string(allocation->kind), allocation->device));
    }
    if (const std::string reason =
            denied(block.scheduler->machine(), *allocation, block.info.device);
        !reason.empty()) {
        const bool link = reason.find("link") != std::string::npos;
        illegal(block, link ? cudaErrorNvlinkUncorrectable : cudaErrorIllegalAddress,
                fmt::format("{} {} bytes at {}: {}", verb, bytes, address, reason));
    }
}

void fail_block(const char* reason) {
    illegal(running_block(), cudaErrorAssert, fmt::format("assertion failed: {}", reason));
}

}  // namespace vgpu
