// Which devices there are and who reaches whom, from CUDA itself.
#include "communicator/machine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/peer.hpp"
#include "rondo/error.hpp"

namespace rondo {
Machine::Machine(std::span<const int> devices, std::span<const std::pair<int, int>> broken) {
    const int present = device_count();
    if (present == 0) {
        throw Unsupported("no GPU was found");
    }
    if (devices.empty()) {
        throw InvalidArgument("a communicator needs at least one device");
    }
    for (const int device : devices) {
        if (device < 0 || device >= present) {
            throw InvalidArgument(
                fmt::format("device {} does not exist; this machine has {}", device, present));
        }
        if (std::count(devices.begin(), devices.end(), device) > 1) {
            throw InvalidArgument(fmt::format("device {} is named twice", device));
        }
        devices_.emplace_back(device);
    }
    const PeerAccess access = enable_peer_access(devices_);
    reaches_.assign(devices_.size() * devices_.size(), true);
    const auto cut = [this](DeviceId from, DeviceId to) {
        const auto rank_of = [this](DeviceId device) {
            return static_cast<std::size_t>(std::ranges::find(devices_, device) - devices_.begin());
        };
        if (rank_of(from) < devices_.size() && rank_of(to) < devices_.size()) {
            reaches_[rank_of(from) * devices_.size() + rank_of(to)] = false;
        }
    };
    for (const PeerPair& pair : access.unreachable) cut(pair.from, pair.to);
    for (const auto& [from, to] : broken) cut(DeviceId(from), DeviceId(to));
}

bool Machine::all_reach_all() const {
    return std::find(reaches_.begin(), reaches_.end(), false) == reaches_.end();
}

}  // namespace rondo
