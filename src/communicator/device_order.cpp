#include "communicator/device_order.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "communicator/planners.hpp"

namespace rondo::detail {
namespace {

struct Latest {
    const void* owner;
    unsigned blocks;
    EventRef event;
};

struct Registry {
    std::mutex mutex;
    std::map<int, std::vector<Latest>> devices;
};

Registry& registry() {
    static Registry* const all = new Registry;  // never destroyed: communicators may be static
    return *all;
}

}  // namespace

DeviceOrder::DeviceOrder(const Machine& machine) {
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        room_.emplace_back(machine.device(rank), resident_blocks(machine.device(rank)));
    }
}

DeviceOrder::~DeviceOrder() {
    const std::lock_guard lock(registry().mutex);
    for (auto& [device, list] : registry().devices) {
        std::erase_if(list, [this](const Latest& it) { return it.owner == this; });
    }
}

void DeviceOrder::before_launch(StreamRef stream, unsigned blocks) {
    const auto own =
        std::ranges::find(room_, stream.device(), [](const auto& it) { return it.first; });
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().devices.find(stream.device().value());
    if (found == registry().devices.end()) return;
    unsigned all = blocks;
    for (const Latest& other : found->second) all += other.owner == this ? 0 : other.blocks;
    if (all <= own->second) return;
    for (const Latest& other : found->second) {
        if (other.owner != this) stream.wait(other.event);
    }
}

void DeviceOrder::after_launch(DeviceId device, unsigned blocks, EventRef event) {
    const std::lock_guard lock(registry().mutex);
    std::vector<Latest>& list = registry().devices[device.value()];
    const auto known = std::ranges::find(list, this, &Latest::owner);
    if (known == list.end()) {
        list.push_back({this, blocks, event});
    } else {
        known->blocks = blocks;
        known->event = event;
    }
}

}  // namespace rondo::detail
