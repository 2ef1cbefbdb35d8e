#include "communicator/arena.hpp"

namespace rondo {
namespace {

std::byte* seen_by(DeviceId device, const auto& pinned) {
    return pinned == nullptr
               ? nullptr
               : static_cast<std::byte*>(memory::device_pointer(device, pinned.get()));
}

}  // namespace

Arena::Arena(const Machine& machine, const ArenaOptions& options)
    : machine_(machine),
      options_(options),
      host_memory_(allocate_pinned(
          machine.device(0), machine.all_reach_all() ? 0 : machine.ranks() * bytes_per_rank())),
      pinned_(allocate_pinned(machine.device(0), options.pinned_bytes)),
      tables_(options.table_bytes),
      pinned_ranges_(options.pinned_bytes) {
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const DeviceId device = machine.device(rank);
        device_memory_.emplace_back(device, bytes_per_rank());
        host_seen_.push_back(seen_by(device, host_memory_));
        pinned_seen_.push_back(seen_by(device, pinned_));
    }
}

Arena::Pinned Arena::allocate_pinned(DeviceId device, std::size_t bytes) {
    return Pinned(static_cast<std::byte*>(memory::allocate_pinned(device, bytes)), {device});
}

std::byte* Arena::table(std::uint32_t owner, std::uint32_t writer, std::size_t offset,
                        std::uint32_t viewer) const {
    return machine_.reaches(writer, owner) ? device_memory_[owner].data() + offset
                                           : host_seen_[viewer] + owner * bytes_per_rank() + offset;
}

std::byte* Arena::host_table(std::uint32_t owner, std::size_t offset) const {
    return host_memory_ == nullptr ? nullptr
                                   : host_memory_.get() + owner * bytes_per_rank() + offset;
}

std::optional<Arena::Range> Arena::take(RangeAllocator& ranges, bool pinned, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::optional<std::size_t> offset = ranges.take(bytes);
    if (!offset) return std::nullopt;
    return std::optional<Range>(std::in_place, *this, pinned, *offset, bytes);
}

void Arena::give_back(const Range& range) {
    const std::lock_guard lock(mutex_);
    (range.pinned_ ? pinned_ranges_ : tables_).give_back(range.offset_, range.bytes_);
}

}  // namespace rondo
