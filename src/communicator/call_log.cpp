#include "communicator/call_log.hpp"

#include <fmt/format.h>

namespace rondo::detail {

std::uint32_t CallLog::keep(const Call& call, std::size_t segments, Kind kind) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t number = next_++;
    Entry& entry = entries_[number % entries_.size()];
    entry.number = number;
    entry.call = call;
    entry.segments = segments;
    entry.kind = kind;
    entry.destinations.assign(call.destinations.begin(), call.destinations.end());
    entry.counts.assign(call.counts.begin(), call.counts.end());
    entry.receive_counts.assign(call.receive_counts.begin(), call.receive_counts.end());
    entry.call.destinations = entry.destinations;
    entry.call.counts = entry.counts;
    entry.call.receive_counts = entry.receive_counts;
    return number;
}

std::string CallLog::Entry::text() const {
    if (kind != Kind::collective) {
        return fmt::format("{} of {} x {}", kind == Kind::send ? "send" : "receive", call.count,
                           to_string(call.type));
    }
    std::string result = detail::describe(call);
    if (segments != 0) result += fmt::format(" in {} tensors", segments);
    return result;
}

const CallLog::Entry* CallLog::find(std::uint32_t number) const {
    const Entry& entry = entries_[number % entries_.size()];
    return entry.number == number && number != 0 ? &entry : nullptr;
}

void CallLog::pin(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    if (const Entry* const entry = find(number)) pinned_[number] = entry->text();
}

void CallLog::forget(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    pinned_.erase(number);
}

std::string CallLog::describe(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    if (const Entry* const entry = find(number)) return entry->text();
    const auto pinned = pinned_.find(number);
    return pinned != pinned_.end() ? pinned->second : fmt::format("call {}", number);
}

}  // namespace rondo::detail
