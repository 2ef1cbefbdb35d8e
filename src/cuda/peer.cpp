#include "cuda/peer.hpp"

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {

namespace {

/// The peer; the device itself is told by check().
std::string call_text(const char* call, DeviceId peer) {
    return std::string(call) + " for peer " + std::to_string(peer.value());
}

void enable(PeerPair pair) {
    const DeviceGuard guard(pair.from);
    const cudaError_t status = cudaDeviceEnablePeerAccess(pair.to.value(), 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
        return;
    }
    check(status, call_text("cudaDeviceEnablePeerAccess", pair.to), pair.from);
}

}  // namespace

bool can_access_peer(DeviceId from, DeviceId to) {
    if (from == to) {
        return true;
    }
    int answer = 0;
    check(cudaDeviceCanAccessPeer(&answer, from.value(), to.value()),
          call_text("cudaDeviceCanAccessPeer", to), from);
    return answer != 0;
}

int peer_attribute(PeerPair pair, cudaDeviceP2PAttr attribute) {
    int value = 0;
    check(cudaDeviceGetP2PAttribute(&value, attribute, pair.from.value(), pair.to.value()),
          call_text("cudaDeviceGetP2PAttribute", pair.to), pair.from);
    return value;
}

PeerAccess enable_peer_access(std::span<const DeviceId> devices) {
    PeerAccess result;
    for (const DeviceId from : devices) {
        for (const DeviceId to : devices) {
            if (from == to) {
                continue;
            }
            const PeerPair pair{from, to};
            if (can_access_peer(from, to)) {
                enable(pair);
                result.enabled.push_back(pair);
            } else {
                result.unreachable.push_back(pair);
            }
        }
    }
    return result;
}

}  // namespace rondo
