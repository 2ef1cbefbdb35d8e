// Faults that tests ask for: which call fails, which link is cut, which block is late or gone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpu/control.hpp"

namespace vgpu {

class Faults {
public:
    void fail_call(std::string_view name, std::uint64_t kth, cudaError_t error);
    void fail_any_call(std::uint64_t kth, cudaError_t error);
    /// Counts the call; the error it must return, if it is to fail. One relaxed load when no fault
    /// is set.
    std::optional<cudaError_t> on_call(const char* name) {
        if (!calls_.load(std::memory_order_relaxed)) return std::nullopt;
        return count_call(name);
    }

    void cut_link(int a, int b);
    void slow_link(int a, int b, double factor);
    bool link_is_cut(int a, int b) const;
    double link_factor(int a, int b) const;
    bool any_link_cut() const { return links_cut_.load(std::memory_order_relaxed); }

    void delay_block(const BlockSelector& selector, std::chrono::microseconds delay);
    void kill_block(const BlockSelector& selector, std::uint64_t nth);
    bool any_block_fault() const { return block_faults_.load(std::memory_order_relaxed); }
    std::chrono::microseconds delay_for(std::string_view kernel, int device,
                                        std::size_t block) const;
    /// The interaction at which the block is to end, if it is.
    std::optional<std::uint64_t> kill_at(std::string_view kernel, int device,
                                         std::size_t block) const;

    void clear();

private:
    struct CallFault {
        std::uint64_t countdown;
        cudaError_t error;
    };
    template <class Value>
    struct BlockFault {
        BlockSelector selector;
        Value value;
    };
    std::optional<cudaError_t> count_call(const char* name);
    static std::pair<int, int> key(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

    mutable std::mutex mutex_;
    std::atomic<bool> calls_{false}, links_cut_{false}, block_faults_{false};
    std::multimap<std::string, CallFault, std::less<>> named_calls_;
    CallFault any_call_{0, cudaSuccess};
    std::set<std::pair<int, int>> cut_;
    std::map<std::pair<int, int>, double> slow_;
    std::vector<BlockFault<std::chrono::microseconds>> delays_;
    std::vector<BlockFault<std::uint64_t>> kills_;
};

}  // namespace vgpu
