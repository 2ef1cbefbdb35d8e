#include "vgpu/call_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace vgpu {

constinit std::atomic<bool> detail::recording_calls{false};

namespace {

struct Records {
    std::mutex mutex;
    std::uint64_t recording = 0;  // counts them, so that a call of an earlier one adds nothing
    std::vector<RecordedCall> calls;
};

Records& records() {
    static Records* all = new Records;  // threads may end after static objects
    return *all;
}

/// The present call of a thread.
struct PresentCall {
    std::uint64_t recording = 0;
    std::size_t index = 0;
};

thread_local PresentCall present_call;

}  // namespace

void detail::record_call(const char* function, int device) {
    Records& all = records();
    std::scoped_lock lock(all.mutex);
    present_call = {all.recording, all.calls.size()};
    all.calls.push_back({.name = function, .device = device, .thread = std::this_thread::get_id()});
}

void detail::record_effect(CallEffect effect) {
    Records& all = records();
    std::scoped_lock lock(all.mutex);
    if (present_call.recording != all.recording || present_call.index >= all.calls.size()) return;
    RecordedCall& call = all.calls[present_call.index];
    switch (effect) {
        case CallEffect::launches:
            call.launches = true;
            break;
        case CallEffect::allocates:
            call.allocates = true;
            break;
        case CallEffect::frees:
            call.frees = true;
            break;
        case CallEffect::may_synchronise:
            call.may_synchronise = true;
            break;
    }
}

void record_calls() {
    Records& all = records();
    std::scoped_lock lock(all.mutex);
    ++all.recording;
    all.calls.clear();
    detail::recording_calls = true;
}

std::vector<RecordedCall> recorded_calls() {
    Records& all = records();
    std::scoped_lock lock(all.mutex);
    detail::recording_calls = false;
    ++all.recording;
    return std::exchange(all.calls, {});
}

std::vector<RecordedCall> disturbing_calls_between_launches(
    const std::vector<RecordedCall>& calls) {
    const auto launches = [](const RecordedCall& call) { return call.launches; };
    const auto first = std::find_if(calls.begin(), calls.end(), launches);
    const auto last = std::find_if(calls.rbegin(), calls.rend(), launches).base();
    std::vector<RecordedCall> found;
    if (first == calls.end()) return found;
    // The first launch itself may load its kernel: nothing is in flight before it.
    std::copy_if(first + 1, last, std::back_inserter(found),
                 [](const RecordedCall& call) { return call.disturbs(); });
    return found;
}

std::string to_string(const RecordedCall& call) {
    return fmt::format("{} (device {}){}{}{}{}", call.name, call.device,
                       call.launches ? " launches" : "", call.allocates ? " allocates" : "",
                       call.frees ? " frees" : "", call.may_synchronise ? " may synchronise" : "");
}

}  // namespace vgpu
