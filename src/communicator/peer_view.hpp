// Which of a rank's buffers its peers can't map although they reach its device.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "communicator/machine.hpp"

namespace rondo {

/// Peer access opens what cudaMalloc() gave. Memory from pools is open to those devices only that
/// cudaMemPoolSetAccess() named, memory from the driver's virtual memory management (cuMemMap) to
/// those that cuMemSetAccess() named. The runtime API does not tell where memory comes from, but it
/// tells what counts: the address by which the current device can use it, or none
/// (cudaPointerAttributes::devicePointer).
///
/// Not thread safe.
class PeerView {
public:
    PeerView(const Machine& machine, std::uint32_t rank);

    /// Devices of the ranks that reach this one's.
    std::span<const DeviceId> peers() const { return peers_; }

    /// True when a peer that reaches the rank's device can't use the memory at `data`, which the
    /// rank itself can. The first byte speaks for the whole buffer.
    ///
    /// Asks CUDA once per peer for an address that is new, and one peer for one that all could use
    /// before: memory may have been freed, and its address given to a pool. So what was open must
    /// not be closed to some devices only while it is in use.
    ///
    /// There must be a DeviceGuard in the thread. Any device may be current afterwards; when it is
    /// a peer's before, that one is asked first, which is cheapest.
    bool is_unmapped_for_peers(const void* data);
    /// A new call begins. Within one, an address is asked for once: in place it is both buffers'.
    void begin_call() { latest_ = nullptr; }

private:
    bool ask(const void* data);
    static bool usable_from(DeviceId device, const void* data);

    std::vector<DeviceId> peers_;
    const void* latest_ = nullptr;  ///< asked for in this call, with its answer
    bool latest_is_unmapped_ = false;
    std::array<const void*, 64> open_{};  ///< addresses that all could use, by a hash of them
};

}  // namespace rondo
