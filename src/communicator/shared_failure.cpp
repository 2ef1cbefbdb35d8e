// Finds the first cause among all that report.
#include "communicator/shared_failure.hpp"

#include <algorithm>

#include "kernels/flags.hpp"
#include "rondo/error.hpp"

namespace rondo {
namespace {

bool is_effect(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const AbortedError&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

void SharedFailure::add(FailureReporter* reporter) {
    const std::lock_guard lock(reporters_mutex_);
    reporters_.push_back(reporter);
}

void SharedFailure::remove(FailureReporter* reporter) noexcept {
    const std::lock_guard lock(reporters_mutex_);
    std::erase(reporters_, reporter);
}

void SharedFailure::set(std::exception_ptr cause) noexcept {
    {
        const std::lock_guard lock(cause_mutex_);
        if (cause_ == nullptr) {
            cause_ = std::move(cause);
        }
        failed_.store(true, std::memory_order_release);
    }
    kernels::store_release(abort_.data(), 1);
}

std::exception_ptr SharedFailure::search() {
    const std::lock_guard lock(reporters_mutex_);
    std::exception_ptr effect;
    // An effect may be seen before its cause, but not without it: then a second look finds both.
    for (int look = 0; look < 2; ++look) {
        for (FailureReporter* const reporter : reporters_) {
            std::exception_ptr failure = reporter->reported_failure();
            if (failure != nullptr && !is_effect(failure)) {
                return failure;
            }
            effect = failure != nullptr ? failure : effect;
        }
        if (effect == nullptr) {
            return nullptr;
        }
    }
    return effect;
}

std::exception_ptr SharedFailure::get() {
    if (!failed_.load(std::memory_order_acquire)) {
        std::exception_ptr found = search();
        if (found == nullptr) {
            return nullptr;
        }
        set(std::move(found));
    }
    const std::lock_guard lock(cause_mutex_);
    return cause_;
}

}  // namespace rondo
