// The devices of a communicator and who of them reaches whose memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/device.hpp"

namespace rondo {

/// Rank r is on the r-th device. Switches peer access on wherever the machine allows it.
class Machine {
public:
    /// Throws InvalidArgument for no devices, devices that do not exist and repeated ones.
    explicit Machine(std::span<const int> devices);

    std::uint32_t ranks() const { return static_cast<std::uint32_t>(devices_.size()); }
    DeviceId device(std::uint32_t rank) const { return devices_[rank]; }
    /// Kernels of `from` may read and write memory of `to`.
    bool reaches(std::uint32_t from, std::uint32_t to) const {
        return reaches_[from * devices_.size() + to];
    }
    bool all_reach_all() const;

    /// The ranks in an order in which each reaches the next, and the last the first, if a bounded
    /// search finds one; otherwise any.
    std::vector<std::uint32_t> ring_order() const;
    /// Two halves for hierarchical copies: ranks that reach each other stay together. Empty when
    /// the order of ranks is as good as any.
    std::vector<std::uint32_t> halves() const;

private:
    std::vector<DeviceId> devices_;
    std::vector<bool> reaches_;
};

}  // namespace rondo
