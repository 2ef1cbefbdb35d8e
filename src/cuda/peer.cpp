#include "cuda/peer.hpp"

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {

namespace {

void enable(PeerPair pair) {
    const DeviceGuard guard(pair.from);
    const cudaError_t status = cudaDeviceEnablePeerAccess(pair.to.value(), 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
        return;
    }
    check(status, "cudaDeviceEnablePeerAccess(" + std::to_string(pair.to.value()) + ")");
}

}  // namespace

bool can_access_peer(DeviceId from, DeviceId to) {
    if (from == to) {
        return true;
    }
    int answer = 0;
    check(cudaDeviceCanAccessPeer(&answer, from.value(), to.value()), "cudaDeviceCanAccessPeer");
    return answer != 0;
}

int peer_attribute(PeerPair pair, cudaDeviceP2PAttr attribute) {
    int value = 0;
    check(cudaDeviceGetP2PAttribute(&value, attribute, pair.from.value(), pair.to.value()),
          "cudaDeviceGetP2PAttribute");
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
