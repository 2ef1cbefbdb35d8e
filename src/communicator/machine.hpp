// The devices of a communicator and who of them reaches whose memory.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cuda/device.hpp"

namespace rondo {

/// Rank r is on the r-th device. Switches peer access on wherever the machine allows it.
class Machine {
public:
    /// `broken` are pairs of devices (from, to) that count as unreachable whatever CUDA says.
    /// Throws InvalidArgument for no devices, devices that do not exist and repeated ones.
    explicit Machine(std::span<const int> devices,
                     std::span<const std::pair<int, int>> broken = {});

    std::uint32_t ranks() const { return static_cast<std::uint32_t>(devices_.size()); }
    DeviceId device(std::uint32_t rank) const { return devices_[rank]; }
    /// Kernels of `from` may read and write memory of `to`.
    bool reaches(std::uint32_t from, std::uint32_t to) const {
        return reaches_[from * devices_.size() + to];
    }
    bool all_reach_all() const;

private:
    std::vector<DeviceId> devices_;
    std::vector<bool> reaches_;
};

}  // namespace rondo
