// Bookkeeping of injected faults.
#include "vgpu/faults.hpp"

#include <algorithm>

namespace vgpu {

namespace {

bool matches(const BlockSelector& selector, std::string_view kernel, int device,
             std::size_t block) {
    return kernel.find(selector.kernel) != std::string_view::npos &&
           (selector.device < 0 || selector.device == device) &&
           (selector.block < 0 || static_cast<std::size_t>(selector.block) == block);
}

}  // namespace

void Faults::fail_call(std::string_view name, std::uint64_t kth, cudaError_t error) {
    std::scoped_lock lock(mutex_);
    named_calls_.emplace(std::string(name), CallFault{kth, error});
    calls_ = true;
}

void Faults::fail_any_call(std::uint64_t kth, cudaError_t error) {
    std::scoped_lock lock(mutex_);
    any_call_ = {kth, error};
    calls_ = true;
}

std::optional<cudaError_t> Faults::count_call(const char* name) {
    std::scoped_lock lock(mutex_);
    std::optional<cudaError_t> result;
    if (any_call_.countdown > 0 && --any_call_.countdown == 0) result = any_call_.error;
    auto [at, end] = named_calls_.equal_range(std::string_view(name));
    while (at != end) {
        if (--at->second.countdown > 0) {
            ++at;
            continue;
        }
        result = at->second.error;
        at = named_calls_.erase(at);
    }
    return result;
}

void Faults::cut_link(int a, int b) {
    std::scoped_lock lock(mutex_);
    cut_.insert(key(a, b));
    links_cut_ = true;
}

void Faults::slow_link(int a, int b, double factor) {
    std::scoped_lock lock(mutex_);
    slow_[key(a, b)] = factor;
}

bool Faults::link_is_cut(int a, int b) const {
    if (!any_link_cut()) return false;
    std::scoped_lock lock(mutex_);
    return cut_.contains(key(a, b));
}

double Faults::link_factor(int a, int b) const {
    std::scoped_lock lock(mutex_);
    auto found = slow_.find(key(a, b));
    return found == slow_.end() ? 1.0 : found->second;
}

void Faults::delay_block(const BlockSelector& selector, std::chrono::microseconds delay) {
    std::scoped_lock lock(mutex_);
    delays_.push_back({selector, delay});
    block_faults_ = true;
}

void Faults::kill_block(const BlockSelector& selector, std::uint64_t nth) {
    std::scoped_lock lock(mutex_);
    kills_.push_back({selector, nth});
    block_faults_ = true;
}

std::chrono::microseconds Faults::delay_for(std::string_view kernel, int device,
                                            std::size_t block) const {
    std::scoped_lock lock(mutex_);
    std::chrono::microseconds longest{0};
    for (const auto& fault : delays_) {
        if (matches(fault.selector, kernel, device, block))
            longest = std::max(longest, fault.value);
    }
    return longest;
}

std::optional<std::uint64_t> Faults::kill_at(std::string_view kernel, int device,
                                             std::size_t block) const {
    std::scoped_lock lock(mutex_);
    std::optional<std::uint64_t> first;
    for (const auto& fault : kills_) {
        if (matches(fault.selector, kernel, device, block))
            first = std::min(first.value_or(fault.value), fault.value);
    }
    return first;
}

void Faults::clear() {
    std::scoped_lock lock(mutex_);
    named_calls_.clear();
    any_call_ = {0, cudaSuccess};
    cut_.clear();
    slow_.clear();
    delays_.clear();
    kills_.clear();
    calls_ = links_cut_ = block_faults_ = false;
}

}  // namespace vgpu
