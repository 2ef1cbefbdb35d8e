// A schedule made ready for the devices of a communicator: programs, flags and scratch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/machine.hpp"
#include "cuda/buffer.hpp"
#include "kernels/program.hpp"
#include "rondo/schedule.hpp"
#include "schedule/lower.hpp"

namespace rondo {

struct PlanOptions {
    std::uint64_t slot_bytes = 0;         ///< of each slot of each channel
    std::uint32_t first_epoch = 0;        ///< where the flags start counting
    std::uint32_t first_flag_number = 0;  ///< in reports
};

/// Whose kernels touch a buffer that a rank brings to a call. From few to many.
enum class BufferUse {
    own,        ///< only the rank's
    by_peers,   ///< also those of ranks that reach its device
    from_afar,  ///< also those of ranks that don't: it must be in host memory
};

/// How a message is cut, for one count and element size.
struct Cut {
    std::uint64_t share = 0;
    std::uint64_t extra_shares = 0;
    std::uint64_t grain = 1;
    std::uint64_t chunk = 0;
    std::uint32_t chunks = 0;
};

/// Serves every count, type and pointer. Its memory lives as long as it does; nothing is allocated
/// after construction. Construction puts nothing into a stream: kernels of other ranks may be
/// waiting there already.
class Plan {
public:
    /// Throws InvalidArgument when the schedule can't be proved.
    Plan(const Machine& machine, Schedule schedule, const PlanOptions& options);

    const Schedule& schedule() const { return schedule_; }
    std::uint32_t lanes(std::uint32_t rank) const { return ranks_[rank].lanes; }
    const kernels::Program* program(std::uint32_t rank) const { return ranks_[rank].program; }
    BufferUse input_use(std::uint32_t rank) const { return ranks_[rank].input_use; }
    BufferUse output_use(std::uint32_t rank) const { return ranks_[rank].output_use; }

    /// Puts the rank's program and flags in place, in the order of the stream, before its first
    /// use.
    void upload(std::uint32_t rank, StreamRef stream);
    bool is_uploaded(std::uint32_t rank) const { return ranks_[rank].uploaded; }

    /// `count` elements in all, of `element_bytes` each. Throws InvalidArgument when there are too
    /// many chunks to count.
    Cut cut(std::uint64_t count, std::uint64_t element_bytes) const;

    std::uint32_t first_flag_number() const { return options_.first_flag_number; }
    std::uint32_t flag_count() const { return static_cast<std::uint32_t>(flags_.size()); }
    const FlagInfo& flag(std::uint32_t number) const {
        return flags_[number - options_.first_flag_number];
    }

private:
    struct RankMemory {
        DeviceBuffer<std::uint32_t> flags;
        DeviceBuffer<std::byte> slots;
        DeviceBuffer<std::byte> image;
        PinnedBuffer<std::uint32_t> first_flags;  ///< what is uploaded
        PinnedBuffer<std::byte> first_image;
        bool uploaded = false;
        const kernels::Program* program = nullptr;
        std::uint32_t lanes = 0;
        BufferUse input_use = BufferUse::own;
        BufferUse output_use = BufferUse::own;
    };
    struct Layout;

    void find_buffer_uses(const Machine& machine);
    void make_image(const Machine& machine, std::uint32_t rank, const Layout& layout);

    Schedule schedule_;
    PlanOptions options_;
    std::vector<FlagInfo> flags_;
    std::vector<std::uint64_t> unit_begins_;
    std::uint64_t largest_share_ = 0;
    std::vector<RankMemory> ranks_;
    std::vector<PinnedBuffer<std::byte>> host_memory_;  ///< none or one: what can't be on a device
};

}  // namespace rondo
