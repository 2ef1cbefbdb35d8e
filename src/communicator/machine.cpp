// Which devices there are and who reaches whom, from CUDA itself.
#include "communicator/machine.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cuda/peer.hpp"
#include "rondo/error.hpp"

namespace rondo {
namespace {

/// Searches a closed way through all ranks. Gives up after so many steps: then the order matters
/// less than the time.
class RingSearch {
public:
    explicit RingSearch(const Machine& machine) : machine_(machine), used_(machine.ranks()) {}

    bool run() {
        order_ = {0};
        used_[0] = true;
        return extend();
    }
    const std::vector<std::uint32_t>& order() const { return order_; }

private:
    bool extend() {
        if (order_.size() == machine_.ranks()) {
            return connected(order_.back(), order_.front());
        }
        for (std::uint32_t next = 1; next < machine_.ranks() && steps_ < 100'000; ++next) {
            ++steps_;
            if (used_[next] || !connected(order_.back(), next)) {
                continue;
            }
            order_.push_back(next);
            used_[next] = true;
            if (extend()) {
                return true;
            }
            order_.pop_back();
            used_[next] = false;
        }
        return false;
    }

    bool connected(std::uint32_t a, std::uint32_t b) const {
        return machine_.reaches(a, b) && machine_.reaches(b, a);
    }

    const Machine& machine_;
    std::vector<std::uint32_t> order_;
    std::vector<bool> used_;
    int steps_ = 0;
};

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
    RingSearch search(*this);
    if (search.run()) {
        return search.order();
    }
    std::vector<std::uint32_t> order(ranks());
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

std::vector<std::uint32_t> Machine::halves() const {
    if (all_reach_all()) {
        return {};
    }
    // Grow one half from rank 0 by whoever reaches most of those already in it.
    std::vector<std::uint32_t> half(ranks(), 1);
    half[0] = 0;
    for (std::uint32_t size = 1; size < ranks() / 2; ++size) {
        std::uint32_t best = 0;
        std::uint32_t best_links = 0;
        for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
            std::uint32_t links = 1;
            for (std::uint32_t member = 0; member < ranks(); ++member) {
                links += half[member] == 0 && reaches(rank, member) ? 1 : 0;
            }
            if (half[rank] == 1 && links > best_links) {
                best = rank;
                best_links = links;
            }
        }
        half[best] = 0;
    }
    return half;
}

}  // namespace rondo
