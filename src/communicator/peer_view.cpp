// Asks the devices of the peers.
#include "communicator/peer_view.hpp"

#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {
namespace {

/// Buffers are mostly aligned to 256 bytes or more.
std::size_t slot_of(const void* data, std::size_t slots) {
    const auto address = reinterpret_cast<std::uintptr_t>(data) >> 8;
    return (address ^ (address >> 6) ^ (address >> 12)) % slots;
}

}  // namespace

PeerView::PeerView(const Machine& machine, std::uint32_t rank) {
    for (std::uint32_t peer = 0; peer < machine.ranks(); ++peer) {
        if (peer != rank && machine.reaches(peer, rank)) {
            peers_.push_back(machine.device(peer));
        }
    }
}

bool PeerView::is_unmapped_for_peers(const void* data) {
    if (peers_.empty()) {
        return false;
    }
    if (latest_ != data) {
        latest_is_unmapped_ = ask(data);
        latest_ = data;
    }
    return latest_is_unmapped_;
}

bool PeerView::ask(const void* data) {
    const void*& known = open_[slot_of(data, open_.size())];
    const bool current_is_peer = std::ranges::find(peers_, current_device()) != peers_.end();
    const DeviceId nearest = current_is_peer ? current_device() : peers_.front();
    const bool was_open = known == data && usable_from(nearest, data);
    const bool open = was_open || std::ranges::all_of(peers_, [data](DeviceId peer) {
                          return usable_from(peer, data);
                      });
    known = open ? data : nullptr;
    return !open;
}

bool PeerView::usable_from(DeviceId device, const void* data) {
    set_current_device(device);
    cudaPointerAttributes attributes;  // all of it is written
    check(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
    return attributes.devicePointer != nullptr;
}

}  // namespace rondo
