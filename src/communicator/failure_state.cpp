#include "communicator/failure_state.hpp"

#include "kernels/flags.hpp"

namespace rondo {

void FailureState::set(std::exception_ptr cause) noexcept {
    {
        const std::lock_guard lock(cause_mutex_);
        if (cause_ == nullptr) {
            cause_ = std::move(cause);
        }
        failed_.store(true, std::memory_order_release);
    }
    kernels::store_release(abort_.data(), 1);
}

std::exception_ptr FailureState::get() {
    if (!is_set()) return search_();
    const std::lock_guard lock(cause_mutex_);
    return cause_;
}

}  // namespace rondo
