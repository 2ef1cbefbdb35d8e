// A device program: what a schedule is lowered to. One block runs one lane; the program is read
// from device memory and is the same for every count, pointer and call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/flags.hpp"

namespace rondo::kernels {

/// Sources, and destinations, that one step may have; also the most ranks of a communicator.
inline constexpr std::uint32_t max_step_spans = 128;
inline constexpr std::uint32_t max_ranks = max_step_spans;
/// Blocks of one rank: replicas times lanes.
inline constexpr std::uint32_t max_blocks = 64;
/// Lanes of one rank in a schedule.
inline constexpr std::uint32_t max_lanes = max_blocks;

/// What says where parts begin: a call's table of inputs or that of outputs, which differ in
/// all_to_all only; or, in a peer's buffer of an all_to_all of equal parts, the distance from the
/// part that the peer has named.
enum PartTable : std::uint32_t { input_parts, output_parts, from_own_part };
/// The buffer begins with the part.
inline constexpr std::uint32_t no_part = ~0u;

/// Where a step reads or writes: a buffer that a rank brought to the call, or a slot of a channel.
struct ProgramSpan {
    enum Space : std::uint32_t { input, output, slot };
    Space space = input;
    std::uint32_t rank = 0;         ///< buffers: whose
    std::uint32_t part = no_part;   ///< buffers: in which part of it the unit lies
    PartTable table = input_parts;  ///< buffers: where that part begins
    std::uint32_t per_chunk = 0;    ///< slots: how often a chunk goes through the channel
    std::uint32_t position = 0;     ///< slots: which of these
    std::uint32_t mask = 0;         ///< slots: their number, a power of two, less one
    std::byte* slots = nullptr;     ///< slots: the first of replica 0
};

/// A flag that a step waits for or signals. Its value at chunk k of a call that begins at epoch E
/// is (E + k) * per_chunk + offset, modulo 2^32.
struct ProgramFlag {
    std::uint32_t* flag = nullptr;  ///< of replica 0
    std::uint32_t per_chunk = 0;
    std::uint32_t offset = 0;
    std::uint32_t number = 0;  ///< its name in reports
};

/// Where a unit lies within its part, as fractions of it: see kernels/fractions.hpp.
struct ProgramUnit {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< 0: where the part ends
    std::uint32_t part = 0;
    PartTable table = input_parts;  ///< that tells how long the part is
};

/// Brief calls (src/schedule/brief.hpp) leave out flags. These fall behind, and one that is 2^31
/// behind would seem to be ahead: every so many chunks a call is not brief.
inline constexpr std::uint32_t brief_period = 1 << 16;

struct ProgramStep {
    std::uint32_t unit = 0;
    std::uint32_t first_span = 0;  ///< sources, then destinations
    std::uint32_t first_flag = 0;  ///< waits, then signals; first those that a brief call needs
    std::uint16_t sources = 0;
    std::uint16_t destinations = 0;
    std::uint16_t waits = 0;
    std::uint16_t brief_waits = 0;
    std::uint16_t signals = 0;
    std::uint16_t brief_signals = 0;
    std::uint32_t finishes = 0;  ///< not 0: the result is complete; mean divides it
};

struct ProgramLane {
    std::uint32_t first_step = 0;
    std::uint32_t steps = 0;
    std::uint32_t early_steps = 0;  ///< of these: the first, which a brief call runs at its entry
    std::uint32_t stride = 1;       ///< chunks from one turn of its steps to the next; the last is
                                    ///< never left out
};

/// The stride of a lane that only waits: each wait says that those before are over too. Not all at
/// once, or a long message would seem to be a flag that never comes.
inline constexpr std::uint32_t waiting_stride = 8;

/// What changes from call to call, in the memory of the rank's device. Survives replays of a graph.
struct ProgramState {
    std::uint32_t next_epoch = 0;  ///< chunks of all calls so far
    std::uint32_t epoch = 0;       ///< where the present call began
    std::uint32_t brief = 0;       ///< not 0: the present call is
    std::uint32_t chunks = 0;      ///< of the present call
    std::uint32_t go = 0;          ///< a flag: calls whose entry is over
    std::uint32_t calls[max_blocks] = {};
};

/// One rank's part of a plan. All pointers are to memory that the rank's device reads.
struct Program {
    const ProgramLane* lanes = nullptr;
    const ProgramStep* steps = nullptr;
    const ProgramSpan* spans = nullptr;
    const ProgramFlag* flags = nullptr;
    const ProgramUnit* units = nullptr;
    ProgramState* state = nullptr;
    std::uint64_t slot_bytes = 0;
    std::uint64_t slot_stride = 0;  ///< bytes from a replica's slots to the next's
    std::uint64_t flag_stride = 0;  ///< bytes from a replica's flags to the next's
    std::uint32_t lane_count = 0;
    std::uint32_t replicas = 1;  ///< block b is lane b % lane_count of replica b / lane_count
};

/// Several tensors that are treated as if each lay behind the other.
struct Segments {
    const std::uint64_t* ends = nullptr;  ///< elements of it and all before it
    void* const* inputs = nullptr;
    void* const* outputs = nullptr;
};

/// What a rank tells every rank at the beginning of a call. What was called travels as a digest:
/// the host of each rank knows its call by its number, and puts a mismatch into words.
struct MailboxMessage {
    std::uint64_t digest = 0;  ///< of all that the ranks must agree on
    const void* input = nullptr;
    void* output = nullptr;
    const Segments* segments = nullptr;  ///< in the sender's memory, or null
    /// premul_sum: the bits of the sender's factor. all_to_all: the sender's balance; those of all
    /// ranks add up to 0 when what each sends is what the other expects.
    std::uint64_t word = 0;
    std::uint32_t call = 0;    ///< its number, for reports
    std::uint32_t chunks = 0;  ///< of the sender; where parts differ, the most of all ranks count
};

/// One cache line.
struct alignas(64) MailboxEntry {
    MailboxMessage message;
    std::uint32_t arrived = 0;  ///< a flag: the sequence number of the call plus one
};
static_assert(sizeof(MailboxEntry) == 64);

/// Calls of even and odd sequence numbers use different entries, so that a fast rank does not
/// overwrite what a slow one still reads.
struct Mailbox {
    MailboxEntry entries[2];
};

enum class CallStatus : std::uint32_t { good, mismatch, wait_failed };

/// What the kernels tell the host about one rank. In mapped host memory, read while they run.
struct RankReport {
    std::uint32_t status = 0;  ///< a CallStatus, stored last, with release order
    std::uint32_t sequence = 0;
    std::uint32_t* calls = nullptr;  ///< [rank] what each called, after a mismatch
};

/// One rank's connection to the others, in the memory of its device.
struct RankState {
    std::uint32_t sequence = 0;       ///< calls so far
    std::uint32_t failed = 0;         ///< not 0: nothing runs any more
    const Program* latest = nullptr;  ///< what the last call ran
};

/// Everything that a plan does not fix.
struct CallArguments {
    const Program* program = nullptr;
    RankState* rank_state = nullptr;
    Mailbox* const* outgoing = nullptr;  ///< [rank] mine at that rank
    Mailbox* const* incoming = nullptr;  ///< [rank] that rank's with me
    RankReport* report = nullptr;
    FailureRecord* records = nullptr;  ///< one per block; in mapped host memory
    std::uint32_t* abort = nullptr;    ///< ends all waits of the communicator
    MailboxMessage message = {};
    std::uint64_t one = 0;           ///< the factor of what is not an input
    std::uint64_t count = 0;         ///< elements of every part, where all have the same
    std::uint64_t chunk = 0;         ///< elements
    std::uint64_t stagger = 0;       ///< elements by which a replica's chunks end before its
                                     ///< predecessor's, where there are several chunks
    std::uint64_t replica_part = 0;  ///< the fraction that one replica is
    std::uint64_t timeout_ns = 0;
    std::uint32_t grain_shift = 0;  ///< 2^it elements are a grain; units meet at grains of parts
    std::uint32_t rank = 0;         ///< this one
    std::uint32_t ranks = 0;
    std::uint32_t divisor = 0;  ///< mean: the number of contributions; 0: none
    std::int32_t device = 0;
    std::uint32_t uneven = 0;        ///< not 0: part_begins tells where parts are
    std::uint32_t entry_number = 0;  ///< the name of rank 0's arrival in reports
    std::uint32_t pairs = 0;  ///< not 0: all_to_all; every peer gets the addresses of its own part
};

/// program_kernel.
struct ProgramArguments {
    CallArguments call;
    /// Calls that run side by side in one launch, each with so many blocks, instead of `call`.
    const CallArguments* group = nullptr;
    std::uint32_t group_size = 0;
    std::uint32_t blocks_per_call = 0;
    /// [PartTable][part] elements before it in a buffer, in tables of ranks + 1; where parts differ
    /// in length.
    const std::uint64_t* part_begins = nullptr;
};

}  // namespace rondo::kernels
