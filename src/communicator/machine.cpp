// Which devices there are and who reaches whom, from CUDA itself.
#include "communicator/machine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/peer.hpp"
#include "rondo/error.hpp"
#include "strategy/ring_order.hpp"

namespace rondo {
namespace {

HopWidths widths_of(const Machine& machine) {
    HopWidths widths(machine.ranks());
    for (std::uint32_t a = 0; a < machine.ranks(); ++a) {
        for (std::uint32_t b = 0; b < machine.ranks(); ++b) {
            widths.set(a, b, machine.reaches(a, b) ? 1 : 0);
        }
    }
    return widths;
}

}  // namespace

Machine::Machine(std::span<const int> devices) {
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
    for (const PeerPair& pair : access.unreachable) {
        const auto from = std::find(devices_.begin(), devices_.end(), pair.from) - devices_.begin();
        const auto to = std::find(devices_.begin(), devices_.end(), pair.to) - devices_.begin();
        reaches_[static_cast<std::size_t>(from) * devices_.size() + static_cast<std::size_t>(to)] =
            false;
    }
}

bool Machine::all_reach_all() const {
    return std::find(reaches_.begin(), reaches_.end(), false) == reaches_.end();
}

std::vector<std::uint32_t> Machine::ring_order() const {
    return find_ring_order(widths_of(*this));
}

std::vector<std::uint32_t> Machine::halves() const {
    return all_reach_all() ? std::vector<std::uint32_t>() : find_halves(widths_of(*this));
}

}  // namespace rondo
