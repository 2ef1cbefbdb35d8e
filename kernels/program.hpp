// A device program: what a schedule is lowered to. One block runs one lane; the program is read
// from device memory and is the same for every count, pointer and call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/flags.hpp"

namespace rondo::kernels {

/// Sources, and destinations, that one step may have.
inline constexpr std::uint32_t max_step_spans = 128;
/// Lanes, thus blocks, of one rank.
inline constexpr std::uint32_t max_lanes = 32;

/// Where a step reads or writes: a buffer that a rank brought to the call, or a slot of a channel.
struct ProgramSpan {
    enum Space : std::uint32_t { input, output, slot };
    Space space = input;
    std::uint32_t rank = 0;       ///< buffers: whose
    std::uint32_t base_unit = 0;  ///< buffers: the unit that the buffer begins with
    std::uint32_t per_chunk = 0;  ///< slots: how often a chunk goes through the channel
    std::uint32_t position = 0;   ///< slots: which of these
    std::uint32_t mask = 0;       ///< slots: their number, a power of two, less one
    std::byte* slots = nullptr;   ///< slots: the first
};

/// A flag that a step waits for or signals. Its value at chunk k of a call that begins at epoch E
/// is (E + k) * per_chunk + offset, modulo 2^32.
struct ProgramFlag {
    std::uint32_t* flag = nullptr;
    std::uint32_t per_chunk = 0;
    std::uint32_t offset = 0;
    std::uint32_t number = 0;  ///< its name in reports
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
    std::uint32_t go = 0;          ///< a flag: calls whose entry is over
    std::uint32_t calls[max_lanes] = {};
};

/// One rank's part of a plan. All pointers are to memory that the rank's device reads.
struct Program {
    const ProgramLane* lanes = nullptr;
    const ProgramStep* steps = nullptr;
    const ProgramSpan* spans = nullptr;
    const ProgramFlag* flags = nullptr;
    const std::uint64_t* unit_begins = nullptr;  ///< in shares; one more than there are units
    ProgramState* state = nullptr;
    std::uint64_t slot_bytes = 0;
};

/// Several tensors that are treated as if each lay behind the other.
struct Segments {
    const std::uint64_t* ends = nullptr;  ///< elements of it and all before it
    void* const* inputs = nullptr;
    void* const* outputs = nullptr;
};

/// What all ranks of a call must agree on.
struct Signature {
    std::uint64_t count = 0;
    std::uint64_t plan = 0;  ///< what the plan depends on besides, as a hash
    std::uint32_t root = 0;
    std::uint32_t kind = 0;  ///< one byte each: collective, element type, operator

    static constexpr std::uint32_t kind_of(std::uint8_t collective, std::uint8_t type,
                                           std::uint8_t op) {
        return collective | static_cast<std::uint32_t>(type) << 8 |
               static_cast<std::uint32_t>(op) << 16;
    }
    std::uint8_t collective() const { return static_cast<std::uint8_t>(kind); }
    std::uint8_t type() const { return static_cast<std::uint8_t>(kind >> 8); }
    std::uint8_t op() const { return static_cast<std::uint8_t>(kind >> 16); }

    bool operator==(const Signature&) const = default;
};

/// What a rank tells every rank, itself included, at the beginning of a call.
struct MailboxMessage {
    Signature signature = {};
    const void* input = nullptr;
    void* output = nullptr;
    const Segments* segments = nullptr;  ///< in the sender's memory, or null
    std::uint64_t factor = 0;            ///< premul_sum: the bits of the sender's factor
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
    FailureRecord records[max_lanes];
    Signature* signatures = nullptr;  ///< of all ranks, after a mismatch
};

/// One rank's connection to the others, in the memory of its device.
struct RankState {
    std::uint32_t sequence = 0;  ///< calls so far
    std::uint32_t failed = 0;    ///< not 0: nothing runs any more
};

/// program_kernel. Everything that a plan does not fix.
struct ProgramArguments {
    const Program* program = nullptr;
    RankState* rank_state = nullptr;
    Mailbox* const* outgoing = nullptr;  ///< [rank] mine at that rank
    Mailbox* const* incoming = nullptr;  ///< [rank] that rank's with me
    RankReport* report = nullptr;
    std::uint32_t* abort = nullptr;  ///< ends all waits of the communicator
    MailboxMessage message = {};
    std::uint64_t one = 0;    ///< the factor of what is not an input
    std::uint64_t share = 0;  ///< grains per share of a unit, and how many shares have one more
    std::uint64_t extra_shares = 0;
    std::uint64_t grain = 1;  ///< elements; units meet at multiples
    std::uint64_t chunk = 0;  ///< elements
    std::uint32_t chunks = 0;
    std::uint32_t rank = 0;  ///< this one
    std::uint32_t ranks = 0;
    std::uint32_t divisor = 0;  ///< mean: the number of contributions; 0: none
    std::int32_t device = 0;
    std::uint64_t timeout_ns = 0;
};

}  // namespace rondo::kernels
