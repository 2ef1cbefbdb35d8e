#include "communicator/device_order.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "communicator/planners.hpp"

namespace rondo::detail {
namespace {

struct Latest {
    const void* owner;
    DeviceOrder::Kind kind;
    cudaStream_t stream;
    unsigned blocks;
    EventRef event;

    bool has_order_with(const Latest& other) const {
        return owner == other.owner && kind == other.kind &&
               (kind == DeviceOrder::Kind::collective || stream == other.stream);
    }
};

/// More of them are looked through for what has ended.
constexpr std::size_t many = 8;

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

void DeviceOrder::before_launch(StreamRef stream, Kind kind, unsigned blocks) {
    const auto own =
        std::ranges::find(room_, stream.device(), [](const auto& it) { return it.first; });
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().devices.find(stream.device().value());
    if (found == registry().devices.end()) return;
    const Latest next{this, kind, stream.get(), blocks, EventRef(stream.device(), nullptr)};
    unsigned all = blocks;
    for (const Latest& other : found->second) all += next.has_order_with(other) ? 0 : other.blocks;
    if (all <= own->second) return;
    for (const Latest& other : found->second) {
        if (!next.has_order_with(other)) stream.wait(other.event);
    }
}

void DeviceOrder::after_launch(StreamRef stream, Kind kind, unsigned blocks, EventRef event) {
    Latest next{this, kind, stream.get(), blocks, event};
    const std::lock_guard lock(registry().mutex);
    std::vector<Latest>& list = registry().devices[stream.device().value()];
    const auto known =
        std::ranges::find_if(list, [&](const Latest& other) { return next.has_order_with(other); });
    if (known == list.end()) {
        if (list.size() >= many) {  // streams come and go
            std::erase_if(list, [](const Latest& other) { return other.event.ready(); });
        }
        list.push_back(next);
    } else {
        // Those before it may not have begun, and need their room too.
        next.blocks = std::max(blocks, known->blocks);
        *known = next;
    }
}

}  // namespace rondo::detail
