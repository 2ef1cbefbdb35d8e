// Per-thread state and what is left to do when a thread ends.
#include "vgpu/thread_state.hpp"

#include <algorithm>

#include "vgpu/machine.hpp"

namespace vgpu {

constinit thread_local ThreadState* detail::known_thread = nullptr;

ThreadState& detail::meet_thread() {
    thread_local ThreadState state;
    known_thread = &state;
    return state;
}

void mark_host_function_thread() {
    this_thread().in_host_function = true;
}

ThreadState::~ThreadState() {
    detail::known_thread = nullptr;
    Machine* current = machine_if_any();
    if (current != nullptr && executor != nullptr && current->generation() == executor_generation) {
        current->scheduler().return_executor(*executor);
    }
    if (current == nullptr || current->generation() != machine_generation ||
        default_streams.empty())
        return;
    std::scoped_lock lock(current->scheduler().mutex());
    for (const auto& stream : default_streams) {
        if (stream) std::erase(current->device(stream->device).streams, stream.get());
    }
    default_streams.clear();  // what they refer to is dropped under the lock
}

}  // namespace vgpu
