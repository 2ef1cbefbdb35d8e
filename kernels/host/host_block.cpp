// What a host block asks of vgpu: checks, waits, and news about its work.
#include "kernels/host/host_block.hpp"

namespace rondo::kernels {
namespace {

void check_spans(const ReduceStep& step, std::size_t element_bytes) {
    const std::size_t offset = step.first * element_bytes;
    const std::size_t bytes = step.count * element_bytes;
    for (std::uint32_t s = 0; s < step.source_count; ++s) {
        vgpu::check_access(static_cast<const std::byte*>(step.sources[s]) + offset, bytes,
                           vgpu::Access::read);
    }
    for (std::uint32_t d = 0; d < step.destination_count; ++d) {
        vgpu::check_access(static_cast<const std::byte*>(step.destinations[d]) + offset, bytes,
                           vgpu::Access::write);
    }
}

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_read_range(void* address, unsigned long bytes);
extern "C" void __tsan_write_range(void* address, unsigned long bytes);

/// The sanitizer does not see what the vector loops read.
void show_to_sanitizer(const ReduceStep& step, std::size_t element_bytes) {
    const std::size_t offset = step.first * element_bytes;
    const std::size_t bytes = step.count * element_bytes;
    for (std::uint32_t s = 0; s < step.source_count; ++s) {
        auto* const source = static_cast<std::byte*>(const_cast<void*>(step.sources[s]));
        __tsan_read_range(source + offset, bytes);
    }
    for (std::uint32_t d = 0; d < step.destination_count; ++d) {
        __tsan_write_range(static_cast<std::byte*>(step.destinations[d]) + offset, bytes);
    }
}
#endif

bool replaces_a_source(const ReduceStep& step, const void* destination) {
    for (std::uint32_t s = 0; s < step.source_count; ++s) {
        if (step.sources[s] == destination) {
            return true;
        }
    }
    return false;
}

std::uintptr_t offset_in_line(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 64;
}

}  // namespace

void HostBlock::begin_step(const ReduceStep& step, std::size_t element_bytes) const {
    vgpu::preemption_point();
    vgpu::announce_work(step.count * element_bytes * (step.source_count + step.destination_count));
    if (vgpu::checking()) {
        check_spans(step, element_bytes);
    }
#if defined(__SANITIZE_THREAD__)
    show_to_sanitizer(step, element_bytes);
#endif
}

void HostBlock::signal_slowly(std::uint32_t* flag, std::uint32_t value) {
    if (vgpu::checking()) {
        vgpu::check_access(flag, sizeof(*flag), vgpu::Access::write, alignof(std::uint32_t));
    }
    store_release(flag, value);
    vgpu::after_signal();
}

bool HostBlock::wait_slowly(const FlagWait& wait, const WaitLimits& limits) const {
    if (vgpu::checking()) {
        vgpu::check_access(wait.flag, sizeof(*wait.flag), vgpu::Access::read,
                           alignof(std::uint32_t));
    }
    if (has_reached(load_acquire(wait.flag), wait.wanted)) {
        return true;
    }
    const vgpu::WaitOutcome outcome = vgpu::wait_for_flag({.flag = wait.flag,
                                                           .wanted = wait.wanted,
                                                           .abort = limits.abort,
                                                           .timeout_ns = limits.timeout_ns});
    if (outcome == vgpu::WaitOutcome::ready) {
        return true;
    }
    // How long a wait lasted that somebody aborted is not known here.
    const bool aborted = outcome == vgpu::WaitOutcome::aborted;
    write_failure(limits, wait, aborted ? WaitFailure::aborted : WaitFailure::timed_out, index(),
                  aborted ? 0 : limits.timeout_ns);
    return false;
}

Stores HostBlock::choose_stores(const ReduceStep& step, std::size_t element_bytes) {
    if (step.count * element_bytes < streaming_threshold && step.result_bytes < large_results) {
        return Stores::cached;
    }
    for (std::uint32_t d = 0; d < step.destination_count; ++d) {
        const void* const destination = step.destinations[d];
        if (replaces_a_source(step, destination) ||
            offset_in_line(destination) != offset_in_line(step.destinations[0])) {
            return Stores::cached;
        }
    }
    return Stores::streaming;
}

const HostLoops& HostBlock::loops_of_chosen_isa() {
    static const HostLoops& loops = loops_of(chosen_isa());
    return loops;
}

}  // namespace rondo::kernels
