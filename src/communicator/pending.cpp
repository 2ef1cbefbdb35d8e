#include "communicator/pending.hpp"

#include <algorithm>
#include <utility>

namespace rondo::detail {

Pending* PendingPool::take(DeviceId device, const Pending* last, bool with_table) {
    constexpr std::size_t most_looks = 4;
    for (std::size_t looks = std::min(queued_, most_looks); looks > 0; --looks) {
        Pending* const pending = first_;
        first_ = std::exchange(pending->next_in_pool, nullptr);
        --queued_;
        if (pending != last && !pending->has_work.load(std::memory_order_acquire) &&
            (!with_table || pending->event.ready())) {
            return pending;
        }
        put_back(pending);
    }
    all_.push_back(std::make_unique<Pending>(device));
    return all_.back().get();
}

void PendingPool::put_back(Pending* pending) noexcept {
    (queued_ == 0 ? first_ : end_->next_in_pool) = pending;
    end_ = pending;
    ++queued_;
}

}  // namespace rondo::detail
