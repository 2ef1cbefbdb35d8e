// All memory that the kernels of a communicator use, reserved when it is made: nothing is allocated
// later, when kernels of some ranks may already wait for others.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "communicator/machine.hpp"
#include "communicator/range_allocator.hpp"
#include "cuda/buffer.hpp"

namespace rondo {

struct ArenaOptions {
    std::size_t scratch_bytes = 0;  ///< slots, of each rank
    std::size_t table_bytes = 0;    ///< programs, flags and mailboxes, of each rank
    std::size_t pinned_bytes = 0;   ///< on its way to devices, and tables of calls; of all ranks
};

/// Every rank has tables and scratch on its device. Where some rank can't reach another, they exist
/// once more in pinned host memory, for what such ranks write there. What has an offset has it in
/// the memories of all ranks. All plans share the scratch: a call that uses it begins when all
/// ranks have left the call before. Thread safe.
class Arena {
public:
    /// Throws CudaError when there is not enough memory.
    Arena(const Machine& machine, const ArenaOptions& options);

    std::size_t scratch_bytes() const { return options_.scratch_bytes; }

    /// A range of the tables that belongs to its owner until it ends. The arena must outlive it.
    class Range {
    public:
        Range() = default;
        Range(Arena& arena, bool pinned, std::size_t offset, std::size_t bytes)
            : arena_(&arena), pinned_(pinned), offset_(offset), bytes_(bytes) {}
        Range(Range&& other) noexcept { *this = std::move(other); }
        Range& operator=(Range&& other) noexcept {
            std::swap(arena_, other.arena_);
            std::swap(pinned_, other.pinned_);
            std::swap(offset_, other.offset_);
            std::swap(bytes_, other.bytes_);
            return *this;
        }
        ~Range() {
            if (arena_ != nullptr) arena_->give_back(*this);
        }
        std::size_t offset() const { return offset_; }
        std::size_t size() const { return bytes_; }

    private:
        friend class Arena;
        Arena* arena_ = nullptr;
        bool pinned_ = false;
        std::size_t offset_ = 0;
        std::size_t bytes_ = 0;
    };

    /// Of every rank's tables; nothing when there is no room.
    std::optional<Range> take_table(std::size_t bytes) { return take(tables_, false, bytes); }
    /// Of the pinned memory.
    std::optional<Range> take_pinned(std::size_t bytes) {
        return take(pinned_ranges_, true, bytes);
    }
    std::size_t table_bytes() const { return options_.table_bytes; }
    std::size_t pinned_bytes() const { return options_.pinned_bytes; }

    /// Where what `writer` writes for `owner` lies in the tables, as `viewer` sees it: on the
    /// owner's device, or on the host where the writer does not reach that. All are ranks.
    std::byte* table(std::uint32_t owner, std::uint32_t writer, std::size_t offset,
                     std::uint32_t viewer) const;
    /// Likewise in the scratch.
    std::byte* scratch(std::uint32_t owner, std::uint32_t writer, std::size_t offset,
                       std::uint32_t viewer) const {
        return table(owner, writer, options_.table_bytes + offset, viewer);
    }
    /// The owner's tables on the host, as the host sees them; null when all ranks reach each other.
    std::byte* host_table(std::uint32_t owner, std::size_t offset) const;

    std::byte* pinned(const Range& range) const { return pinned_.get() + range.offset(); }
    std::byte* pinned(const Range& range, std::uint32_t viewer) const {
        return pinned_seen_[viewer] + range.offset();
    }

private:
    using Pinned = std::unique_ptr<std::byte, memory::FreePinned>;

    std::optional<Range> take(RangeAllocator& ranges, bool pinned, std::size_t bytes);
    void give_back(const Range& range);
    static Pinned allocate_pinned(DeviceId device, std::size_t bytes);
    std::size_t bytes_per_rank() const { return options_.table_bytes + options_.scratch_bytes; }

    const Machine& machine_;
    const ArenaOptions options_;
    std::vector<DeviceBuffer<std::byte>> device_memory_;  ///< per rank
    Pinned host_memory_;  ///< the same for ranks that can't reach each other; may be null
    Pinned pinned_;
    std::vector<std::byte*> host_seen_;  ///< the two as each rank sees them
    std::vector<std::byte*> pinned_seen_;
    std::mutex mutex_;
    RangeAllocator tables_;
    RangeAllocator pinned_ranges_;
};

}  // namespace rondo
