// Tries out whether GPUs that should reach each other's memory really do.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

struct SelfTestOptions {
    std::size_t bytes = std::size_t{1} << 20;   ///< copied per pair
    std::chrono::milliseconds deadline{5'000};  ///< for each step of a pair
    /// A broken NVLink can leave a device unusable until it is reset, which destroys everything
    /// that the process has on it. Without permission, the pairs of such a device count as broken.
    bool may_reset_devices = false;
};

struct BrokenPair {
    int from = 0;
    int to = 0;
    std::string reason;
};

/// Switches on peer access, copies a pattern from the first to the second device of each pair and
/// reads it back there. Returns those that fail, with the reason; nothing is thrown for them. Peer
/// access stays on. A copy that never ends costs its deadline, and its memory is not given back.
std::vector<BrokenPair> test_pairs(const std::vector<std::pair<int, int>>& pairs,
                                   const SelfTestOptions& options);

}  // namespace rondo
