#include "communicator/call_record.hpp"

#include <utility>

#include "cuda/graph.hpp"

namespace rondo::detail {

RecordPool::RecordPool(DeviceId device, std::size_t records) : device_(device) {
    for (std::size_t i = 0; i < records; ++i) {
        all_.push_back(std::make_unique<CallRecord>(device));
        all_.back()->next_in_pool = std::exchange(free_, all_.back().get());
    }
}

CallRecord* RecordPool::take() {
    collect();
    for (CallRecord** place = &free_; *place != nullptr; place = &(*place)->next_in_pool) {
        CallRecord* const record = *place;
        if (!record->pinned.empty()) {
            if (!record->event.ready()) continue;
            record->pinned.clear();
        }
        *place = std::exchange(record->next_in_pool, nullptr);
        return record;
    }
    const RelaxedCaptureMode relaxed;
    all_.push_back(std::make_unique<CallRecord>(device_));
    return all_.back().get();
}

void RecordPool::put_back(CallRecord* record) noexcept {
    (used_ == nullptr ? used_ : newest_->next_in_pool) = record;
    newest_ = record;
}

/// Looks at the two oldest: more than come, so that what is free is found before the pool is twice
/// as large as what is used.
void RecordPool::collect() noexcept {
    for (int looks = 0; looks < 2 && used_ != nullptr; ++looks) {
        CallRecord* const record = used_;
        used_ = std::exchange(record->next_in_pool, nullptr);
        if (record->keepers != 0 || record->has_work.load(std::memory_order_acquire)) {
            put_back(record);
        } else {
            record->next_in_pool = std::exchange(free_, record);
        }
    }
}

bool RecordPool::free_memory() {
    bool freed = false;
    for (const auto& record : all_) {
        if (!record->pinned.empty() && record->event.ready()) {
            record->pinned.clear();
            freed = true;
        }
    }
    return freed;
}

std::uint64_t RecordPool::newest_ended() const {
    std::uint64_t newest = 0;
    for (const auto& record : all_) {
        if (record->number > newest && record->event.ready()) newest = record->number;
    }
    return newest;
}

const CallRecord* RecordPool::oldest_with_memory() const {
    const CallRecord* oldest = nullptr;
    for (const auto& record : all_) {
        if (!record->pinned.empty() && (oldest == nullptr || record->number < oldest->number)) {
            oldest = record.get();
        }
    }
    return oldest;
}

}  // namespace rondo::detail
