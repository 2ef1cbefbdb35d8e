// Which calls of the API are made and what each does besides its own work, while a test wants to
// know.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/control.hpp"

namespace vgpu {

/// What a call does that matters to work in flight.
enum class CallEffect { launches, allocates, frees, may_synchronise };

namespace detail {
extern constinit std::atomic<bool> recording_calls;
void record_call(const char* function, int device);
void record_effect(CallEffect effect);
}  // namespace detail

/// The calling thread begins a call.
inline void note_call(const char* function, int device) {
    if (detail::recording_calls.load(std::memory_order_relaxed)) [[unlikely]]
        detail::record_call(function, device);
}

/// The calling thread's present call has this effect.
inline void note_effect(CallEffect effect) {
    if (detail::recording_calls.load(std::memory_order_relaxed)) [[unlikely]]
        detail::record_effect(effect);
}

}  // namespace vgpu
