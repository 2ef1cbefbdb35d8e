// A schedule says which rank moves and reduces what, in which order. Strategies build schedules,
// you can write your own, and verify() proves them before they run. docs/schedules.md has details.
//
//     rondo::Schedule mine = rondo::schedule_from_json(text);
//     std::puts(rondo::verify(mine).problem.c_str());           // empty: it is correct
//     comm.all_reduce(op, gradients, {.schedule = comm.add_schedule(mine)});
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo {

/// What a schedule, or a call, does.
enum class Collective : std::uint8_t {
    all_reduce,      ///< everybody gets the reduction of all inputs
    reduce,          ///< only the destinations get it
    broadcast,       ///< the destinations get the root's input
    reduce_scatter,  ///< each rank gets its part of the reduction
    all_gather,      ///< each rank brings its part, everybody gets all
    all_to_all,      ///< each rank brings a part for every rank, and gets one from every rank
    gather,          ///< each rank brings its part, the root gets all
    scatter          ///< the root brings a part for every rank, each rank gets its own
};

RONDO_API std::string_view to_string(Collective collective);
/// The inverse. Throws InvalidArgument that names the text and what is known.
RONDO_API Collective parse_collective(std::string_view text);
/// True where contributions of several ranks become one value.
RONDO_API bool reduces(Collective collective);
/// True where one rank differs from the others: reduce, broadcast, gather, scatter.
RONDO_API bool has_root(Collective collective);
/// True where the message has a part per rank (all_to_all: per pair of ranks), so that its units
/// belong to ranks.
RONDO_API bool has_owners(Collective collective);

/// A FIFO of scratch slots in the memory of the receiver. One lane pushes, one lane pops, in the
/// same order. Flags and credits follow from it.
struct Channel {
    std::uint32_t from_lane = 0;
    std::uint32_t to_lane = 0;
    std::uint32_t depth = 2;  ///< slots; a power of two

    bool operator==(const Channel&) const = default;
};

/// A flag without data: one lane signals, one lane waits, equally often per chunk.
struct EventLink {
    std::uint32_t from_lane = 0;
    std::uint32_t to_lane = 0;

    bool operator==(const EventLink&) const = default;
};

/// What a step reads or writes: the unit of the step in the input or output of a rank, or the next
/// slot of a channel (popped as a source, pushed as a destination).
struct Operand {
    enum class Kind : std::uint8_t { input, output, channel };
    Kind kind = Kind::input;
    std::uint32_t index = 0;  ///< rank or channel

    bool operator==(const Operand&) const = default;
};

/// Waits for the events and for its channels, folds the sources in their order, writes the result
/// to all destinations, signals. Without operands it only waits and signals.
struct Step {
    std::uint32_t unit = 0;
    std::vector<Operand> sources = {};
    std::vector<Operand> destinations = {};
    std::vector<std::uint32_t> waits = {};    ///< events
    std::vector<std::uint32_t> signals = {};  ///< events
    bool finishes = false;  ///< the result has all contributions: mean divides it here

    bool operator==(const Step&) const = default;
};

/// What one block runs: its steps, again for every chunk.
struct Lane {
    std::uint32_t rank = 0;
    std::vector<Step> steps = {};

    bool operator==(const Lane&) const = default;
};

/// A whole schedule. A plain value: build it, look at it, store it as JSON.
struct Schedule {
    std::string name = {};  ///< of the strategy, for people
    Collective collective = Collective::all_reduce;
    std::uint32_t ranks = 0;
    /// broadcast, scatter: who has the value; reduce, gather: a destination; else 0.
    std::uint32_t root = 0;
    /// Who gets a result, sorted. Everybody except in reduce and broadcast, where any will do, and
    /// in gather, where it is the root.
    std::vector<std::uint32_t> destinations = {};
    /// Every part of the message is cut into units with these shares of it: the whole message is
    /// one part, or every owner has one, or (all_to_all) every pair. How many elements a part has
    /// is an argument of the call. The shares of a part must not add up to 0.
    std::vector<std::uint64_t> unit_shares = {};
    /// The rank that each unit belongs to: all_gather, gather: whose input it comes from;
    /// reduce_scatter, scatter: whose output it goes to; all_to_all: the source. Rising, every rank
    /// has one at least. Else empty.
    std::vector<std::uint32_t> unit_owners = {};
    /// all_to_all: the rank that gets each unit, rising for each owner; every pair has one at
    /// least, also a rank and itself. Else empty.
    std::vector<std::uint32_t> unit_receivers = {};
    std::vector<Lane> lanes = {};
    std::vector<Channel> channels = {};
    std::vector<EventLink> events = {};
    /// Large messages are cut into chunks although no channel demands it.
    bool chunked = false;

    bool operator==(const Schedule&) const = default;
};

/// Whether its lanes run again for every chunk of a large message, or once.
RONDO_API bool is_cut_into_chunks(const Schedule& schedule);

/// Whether the rank brings the unit, or gets it. Together these say what a collective is.
RONDO_API bool has_input(const Schedule& schedule, std::uint32_t rank, std::uint32_t unit);
RONDO_API bool has_output(const Schedule& schedule, std::uint32_t rank, std::uint32_t unit);

/// Parts of the message: 1, or one per rank, or (all_to_all) one per pair.
RONDO_API std::uint32_t part_count(const Schedule& schedule);
/// The unit's part: 0, or its owner, or (all_to_all) owner * ranks + receiver. Rises with the unit.
RONDO_API std::uint32_t part_of(const Schedule& schedule, std::uint32_t unit);

/// The least that a schedule must be for anybody to look further: every index exists, every part
/// has a unit, depths are powers of two, every rank has a lane, channels and events are used by
/// their two lanes only, from one lane to another. Throws InvalidArgument that names the element.
RONDO_API void validate(const Schedule& schedule);

/// For people: one line per step.
RONDO_API std::string to_string(const Schedule& schedule);
/// "rank 3, lane 1, step 2"; the lane is counted within its rank.
RONDO_API std::string describe_step(const Schedule& schedule, std::uint32_t lane, std::size_t step);
/// The lane's number within its rank: the block that runs it.
RONDO_API std::uint32_t lane_in_rank(const Schedule& schedule, std::uint32_t lane);

/// One JSON object, see docs/schedules.md. Throws InvalidArgument that names the element.
RONDO_API std::string to_json(const Schedule& schedule);
RONDO_API Schedule schedule_from_json(std::string_view text);

/// What verify() found. True if the schedule is correct.
struct Verification {
    std::string problem;  ///< empty if the schedule is correct; otherwise names the first bad step

    explicit operator bool() const { return problem.empty(); }
};

/// Proves that a schedule is correct, without running it on a GPU. It executes the schedule
/// symbolically: over several chunks and calls in a row, brief ones too (docs/schedules.md), out of
/// place and, except for all_to_all, in place. Proved is that
///   - every output holds each contribution exactly once (or the root's value, or the owner's) and
///     was finished exactly once;
///   - no step reads what may still be written or writes what may still be read: all such pairs are
///     ordered by flags, whatever the speed of the ranks;
///   - nobody touches a rank's buffers after that rank has left;
///   - no lane waits forever, with the slots that its channels have.
///
/// Throws InvalidArgument where validate() does.
RONDO_API Verification verify(const Schedule& schedule);

/// The same, but throws InvalidArgument with the problem.
RONDO_API void require_verified(const Schedule& schedule);

}  // namespace rondo
