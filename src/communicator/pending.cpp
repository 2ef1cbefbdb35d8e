#include "communicator/pending.hpp"

#include <utility>

namespace rondo::detail {

Pending* PendingPool::take(DeviceId device, const Pending* last, bool with_table) {
    collect(last);
    for (Pending** place = &free_; *place != nullptr; place = &(*place)->next_in_pool) {
        Pending* const pending = *place;
        if (!with_table || pending->event.ready()) {
            *place = std::exchange(pending->next_in_pool, nullptr);
            return pending;
        }
    }
    all_.push_back(std::make_unique<Pending>(device));
    return all_.back().get();
}

void PendingPool::put_back(Pending* pending) noexcept {
    (used_ == nullptr ? used_ : newest_->next_in_pool) = pending;
    newest_ = pending;
}

/// Looks at the two oldest: more than come, so that what is free is found before the pool is twice
/// as large as what is used.
void PendingPool::collect(const Pending* last) noexcept {
    for (int looks = 0; looks < 2 && used_ != nullptr; ++looks) {
        Pending* const pending = used_;
        used_ = std::exchange(pending->next_in_pool, nullptr);
        if (pending == last || pending->has_work.load(std::memory_order_acquire)) {
            put_back(pending);
        } else {
            pending->next_in_pool = std::exchange(free_, pending);
        }
    }
}

}  // namespace rondo::detail
