// A plan made ready for the devices of a communicator: programs, flags and scratch in its arena.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/arena.hpp"
#include "communicator/machine.hpp"
#include "kernels/program.hpp"
#include "schedule/lower.hpp"
#include "strategy/plan.hpp"

namespace rondo {

/// How a call of one length is cut into chunks.
struct ChunkCut {
    std::uint64_t chunk = 0;    ///< elements
    std::uint64_t stagger = 0;  ///< see kernels::CallArguments
    std::uint32_t chunks = 0;
    std::uint32_t grain_shift = 0;
};

struct PrepareOptions {
    std::uint32_t first_epoch = 0;        ///< where the flags start counting
    std::uint32_t first_flag_number = 0;  ///< in reports
    /// The ranks of the machine that the schedule's ranks are; empty: all. Only calls of all ranks
    /// are in one order, so others have slots of their own.
    std::vector<std::uint32_t> members = {};
};

/// The communicator's memory has no room for a plan now; it may have when others are gone.
class NoRoom : public InvalidArgument {
public:
    using InvalidArgument::InvalidArgument;
};

/// Serves every count, type and pointer. Making it calls no CUDA function: kernels of other ranks
/// may be waiting already. Its memory is its own until it ends, so it must end only when no kernel
/// runs it any more.
class PreparedPlan {
public:
    /// The schedule must be verified. Throws NoRoom, and InvalidArgument when a rank
    /// would touch the buffers of one whose memory it does not reach.
    PreparedPlan(const Machine& machine, Arena& arena, std::shared_ptr<const Plan> plan,
                 const PrepareOptions& options);

    const Plan& plan() const { return *plan_; }
    /// Ranks of its schedule, and what they are in the machine.
    std::uint32_t members() const { return static_cast<std::uint32_t>(ranks_.size()); }
    std::uint32_t member(std::uint32_t rank) const { return options_.members[rank]; }
    std::uint32_t blocks(std::uint32_t rank) const { return ranks_[rank].blocks; }
    const kernels::Program* program(std::uint32_t rank) const { return ranks_[rank].program; }
    /// Kernels of other ranks touch the buffer that the rank brings to a call.
    bool peers_touch_input(std::uint32_t rank) const { return ranks_[rank].input_is_touched; }
    bool peers_touch_output(std::uint32_t rank) const { return ranks_[rank].output_is_touched; }
    /// Of two ranks, for what one sends the other.
    bool is_transfer() const { return has_own_slots_; }
    /// Whether parts of different lengths can be done: see relays().
    bool takes_uneven_parts() const { return !relays_; }
    std::uint64_t replica_part() const { return replica_part_; }

    /// Pinned memory that the rank's first use needs; 0 from then on.
    std::size_t upload_bytes(std::uint32_t rank) const { return ranks_[rank].image.size(); }
    /// Puts the rank's program and flags in place, in the order of the stream, before its first
    /// use. `pinned` has room for upload_bytes(), and is the stream's until it has passed here.
    /// Neither allocates nor waits. Does nothing when that has happened. Calls of one rank must
    /// not race; the kernels of those that come later in the rank's order find the program.
    void upload(std::uint32_t rank, StreamRef stream, std::byte* pinned);

    /// For parts of at most so many elements. Throws InvalidArgument when there are too many chunks
    /// to count.
    ChunkCut cut(std::uint64_t largest_part, std::uint64_t element_bytes) const;

    bool has_flag(std::uint32_t number) const {
        return number - options_.first_flag_number < lowering_.flags().size();
    }
    const FlagInfo& flag(std::uint32_t number) const {
        return lowering_.flags()[number - options_.first_flag_number];
    }
    std::uint32_t flag_count() const {
        return static_cast<std::uint32_t>(lowering_.flags().size());
    }

    /// The newest call of each rank that runs it, as the rank counts its calls; guarded by that
    /// rank's lock.
    std::uint64_t& latest_call(std::uint32_t rank) { return ranks_[rank].latest_call; }

private:
    struct RankPart {
        std::vector<std::byte> image;  ///< the program and, unless they are 0, what flags start
                                       ///< with; empty when it was uploaded
        std::size_t program_bytes = 0;
        const kernels::Program* program = nullptr;
        std::uint32_t blocks = 0;
        bool input_is_touched = false;
        bool output_is_touched = false;
        std::uint64_t latest_call = 0;
    };
    struct Layout;
    struct UnitSize {
        std::uint64_t begin = 0, end = 0;
        bool operator==(const UnitSize&) const = default;
    };

    void find_touched_buffers(const Machine& machine);
    void find_unit_sizes(const std::vector<kernels::ProgramUnit>& units);
    Placement placement_for(std::uint32_t rank, const Layout& layout) const;
    /// The program as it will lie in the rank's tables, with its header at the beginning.
    std::vector<std::byte> make_image(const LoweredProgram& program, const Layout& layout,
                                      const std::byte* base) const;
    void start_flags(const Layout& layout, std::uint32_t rank, const Machine& machine);
    Arena::Range take_table(std::size_t bytes) const;
    [[noreturn]] void throw_no_room(const char* what, std::size_t wanted, std::size_t all) const;

    Arena& arena_;
    std::shared_ptr<const Plan> plan_;
    PrepareOptions options_;
    Lowering lowering_;
    std::vector<UnitSize> unit_sizes_;  ///< the different ones
    std::vector<RankPart> ranks_;
    bool relays_ = false;
    std::uint64_t replica_part_ = 0;
    Arena::Range flags_;   ///< of every rank's tables: the flags of all replicas
    Arena::Range images_;  ///< of every rank's tables: its program
    Arena::Range slots_;   ///< of every rank's tables, where they are not in the scratch
    bool has_own_slots_ = false;
};

}  // namespace rondo
