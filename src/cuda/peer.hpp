// Peer access: which devices may read and write each other's memory from kernels, and switching it
// on.
#pragma once

#include <span>
#include <vector>

#include "cuda/device.hpp"

namespace rondo {

/// One direction: kernels on `from` touch the memory of `to`.
struct PeerPair {
    DeviceId from;
    DeviceId to;

    bool operator==(const PeerPair&) const noexcept = default;
};

/// What enable_peer_access() found.
struct PeerAccess {
    std::vector<PeerPair> enabled;
    std::vector<PeerPair>
        unreachable;  ///< the machine can't; copies still work, staged through the host

    bool complete() const noexcept { return unreachable.empty(); }
};

/// A device reaches itself.
bool can_access_peer(DeviceId from, DeviceId to);

int peer_attribute(PeerPair pair, cudaDeviceP2PAttr attribute);

/// Switches on every direction between the devices that the machine allows. May be repeated: what
/// is on stays on. It stays on until the device is reset, because others in the process may rely on
/// it too.
PeerAccess enable_peer_access(std::span<const DeviceId> devices);

}  // namespace rondo
