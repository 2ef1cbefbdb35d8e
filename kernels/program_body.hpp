// The kernel that runs any schedule: agrees with the other ranks on what is called, then runs one
// lane of the program chunk by chunk.
#pragma once

#include "kernels/fractions.hpp"
#include "kernels/program.hpp"
#include "kernels/program_numbers.hpp"
#include "kernels/steps.hpp"

namespace rondo::kernels {

/// The pointers of a step, where all threads find them. Two of them are used in turn, so that one
/// sync() per step is enough.
struct SharedStep {
    const void* sources[max_step_spans];
    void* destinations[max_step_spans];
    std::uint64_t factors[max_step_spans];
};

/// What the threads of a block share.
struct SharedProgram {
    SharedStep steps[2];
    /// The CallArguments that the block runs. Bytes, because what threads share has no constructor.
    alignas(CallArguments) unsigned char call[sizeof(CallArguments)];
    std::uint64_t part_begins[2 * (max_ranks + 1)];  ///< see ProgramArguments
};

template <ElementType type, ReduceOp op, class Block>
class ProgramRun {
public:
    /// `index` is that of the block among those that run the call.
    RONDO_DEVICE ProgramRun(Block& block, const CallArguments& arguments, SharedProgram& shared,
                            std::uint32_t index)
        : block_(block),
          arguments_(arguments),
          program_(*arguments.program),
          shared_(shared),
          index_(index),
          replica_(index / program_.lane_count) {}

    /// One loop for the steps before and behind the entry, so that the code of a step exists once:
    /// twice would not fit into registers.
    RONDO_DEVICE void run() {
        // A copy would cost registers.
        const ProgramLane& lane = program_.lanes[index_ - replica_ * program_.lane_count];
        std::uint32_t entry = index_ == 0 ? begin_call(lane) : 0;  // is behind so many steps
        std::uint32_t chunk = 0;
        std::uint32_t i = 0;
        RONDO_NO_UNROLL
        while (true) {
            if (i == entry) {
                if (!(index_ == 0 ? enter(lane) : follow(lane))) {
                    return;
                }
                entry = UINT32_MAX;  // over
            }
            if (i == lane.steps) {
                i = 0;
                chunk = next_chunk(chunk, lane.stride);
            }
            if (chunk >= chunks_ || lane.steps == 0) {
                return;
            }
            if (!run_step(program_.steps[lane.first_step + i], chunk)) {
                fail();
                return;
            }
            ++i;
        }
    }

private:
    RONDO_DEVICE WaitLimits limits(std::uint32_t factor = 1) const {
        return {.timeout_ns = arguments_.timeout_ns * factor,
                .abort = arguments_.abort,
                .records = arguments_.records,
                .device = arguments_.device};
    }

    /// The last chunk is always among them.
    RONDO_DEVICE std::uint32_t next_chunk(std::uint32_t chunk, std::uint32_t stride) const {
        const std::uint32_t last = chunks_ - 1;
        const std::uint32_t most = chunk < last ? last : chunk + 1;
        return chunk + stride < most ? chunk + stride : most;
    }

    /// Tells everybody; their waits end too.
    RONDO_DEVICE void fail() {
        if (block_.thread_rank() == 0) {
            store_release(&arguments_.rank_state->failed, 1);
            store_release(&arguments_.report->status,
                          static_cast<std::uint32_t>(CallStatus::wait_failed));
            store_release(arguments_.abort, 1);
        }
    }

    /// Whether another block or an earlier call has failed. One thread looks and all decide alike:
    /// the word may change between two looks. Also a sync().
    RONDO_DEVICE bool has_failed() const {
        return block_.any(block_.thread_rank() == 0 &&
                          load_acquire(&arguments_.rank_state->failed) != 0);
    }

    // ---- entry

    /// Block 0: finds out where the call is, and how many steps come before its entry. Slots are
    /// every plan's: only behind a call of the same plan is it known which of them are free.
    RONDO_DEVICE std::uint32_t begin_call(const ProgramLane& lane) {
        const ProgramState& state = *program_.state;
        epoch_ = state.next_epoch;
        chunks_ = arguments_.message.chunks;
        brief_ = chunks_ == 1 && program_.replicas == 1 && !may_differ() &&
                 epoch_ - state.epoch <= 1 && epoch_ % brief_period != 0 &&
                 arguments_.rank_state->latest == &program_;
        parity_ = arguments_.rank_state->sequence % 2;
        return !brief_ || lane.early_steps == 0 || has_failed() ? 0 : lane.early_steps;
    }

    /// Block 0: publishes the call, waits for all ranks, compares, and lets the other blocks go.
    /// Its arrival also says that what the early steps pushed has arrived.
    RONDO_DEVICE bool enter(const ProgramLane& lane) {
        RankState& rank_state = *arguments_.rank_state;
        ProgramState& state = *program_.state;
        const std::uint32_t sequence = rank_state.sequence;
        const std::uint32_t calls = state.calls[0];
        const bool agreed = !has_failed() && exchange(sequence);
        block_.sync();
        if (block_.thread_rank() == 0) {
            state.calls[0] = calls + 1;
            if (agreed) {
                rank_state.sequence = sequence + 1;
                rank_state.latest = &program_;
                state.chunks = may_differ() ? most_chunks() : chunks_;
                state.epoch = epoch_;
                state.next_epoch = epoch_ + state.chunks;
                state.brief = brief_ ? 1 : 0;
            }
        }
        block_.signal(&state.go, calls + 1);
        chunks_ = state.chunks;
        if (agreed && !brief_) {
            catch_up(lane);
        }
        return agreed;
    }

    /// The other blocks.
    RONDO_DEVICE bool follow(const ProgramLane& lane) {
        ProgramState& state = *program_.state;
        const std::uint32_t calls = state.calls[index_];
        const FlagWait wait{.flag = &state.go, .wanted = calls + 1, .number = go_flag_number};
        if (!block_.wait(wait, limits(2))) {
            fail();
            return false;
        }
        if (block_.thread_rank() == 0) {
            state.calls[index_] = calls + 1;
        }
        epoch_ = state.epoch;
        chunks_ = state.chunks;
        brief_ = state.brief != 0;
        parity_ = (arguments_.rank_state->sequence - 1) % 2;  // block 0 has counted the call
        if (has_failed()) {
            return false;
        }
        if (!brief_) {
            catch_up(lane);
        }
        return true;
    }

    /// Brings flags that brief calls left out to where this call begins. Calls of several replicas
    /// are never brief.
    RONDO_DEVICE void catch_up(const ProgramLane& lane) {
        if (program_.replicas != 1) {
            return;
        }
        for (std::uint32_t i = block_.thread_rank(); i < lane.steps; i += block_.size()) {
            const ProgramStep& step = program_.steps[lane.first_step + i];
            const ProgramFlag* const signals = program_.flags + step.first_flag + step.waits;
            for (std::uint32_t s = step.brief_signals; s < step.signals; ++s) {
                block_.post(signals[s].flag, epoch_ * signals[s].per_chunk);
            }
        }
    }

    RONDO_DEVICE bool exchange(std::uint32_t sequence) {
        const std::uint32_t ranks = arguments_.ranks;
        for (std::uint32_t r = block_.thread_rank(); r < ranks; r += block_.size()) {
            MailboxEntry& entry = arguments_.outgoing[r]->entries[parity_];
            block_.expect_access(&entry, sizeof(entry));
            entry.message = message_to(r);
            block_.post(&entry.arrived, sequence + 1);
        }
        const auto arrival = [&](std::uint32_t r) {
            return FlagWait{.flag = &arguments_.incoming[r]->entries[parity_].arrived,
                            .wanted = sequence + 1,
                            .number = arguments_.entry_number + r};
        };
        if (!block_.wait_all(ranks, arrival, limits())) {
            fail();
            return false;
        }
        bool differs = false;
        for (std::uint32_t r = block_.thread_rank(); r < ranks; r += block_.size()) {
            differs |= message_of(r).digest != arguments_.message.digest;
        }
        if (block_.any(differs || (block_.thread_rank() == 0 && is_unbalanced()))) {
            report_mismatch(sequence);
            return false;
        }
        return true;
    }

    /// all_to_all: each peer gets the addresses of the parts that it shares with this rank.
    RONDO_DEVICE MailboxMessage message_to(std::uint32_t rank) const {
        MailboxMessage message = arguments_.message;
        if (arguments_.pairs != 0) {
            message.input = static_cast<const std::byte*>(message.input) +
                            begin_of(rank, input_parts) * element_bytes<type>;
            message.output = static_cast<std::byte*>(message.output) +
                             begin_of(rank, output_parts) * element_bytes<type>;
        }
        return message;
    }

    /// A rank knows only the parts that it sends or receives, so not what all ranks agree on.
    RONDO_DEVICE bool may_differ() const { return arguments_.pairs != 0 && arguments_.uneven != 0; }

    RONDO_DEVICE std::uint32_t most_chunks() const {
        std::uint32_t most = 0;
        for (std::uint32_t r = 0; r < arguments_.ranks; ++r) {
            most = most < message_of(r).chunks ? message_of(r).chunks : most;
        }
        return most;
    }

    RONDO_DEVICE bool is_unbalanced() const {
        if (!may_differ()) {
            return false;
        }
        std::uint64_t sum = 0;
        for (std::uint32_t r = 0; r < arguments_.ranks; ++r) {
            sum += message_of(r).word;
        }
        return sum != 0;
    }

    RONDO_DEVICE void report_mismatch(std::uint32_t sequence) {
        RankReport& report = *arguments_.report;
        for (std::uint32_t r = block_.thread_rank(); r < arguments_.ranks; r += block_.size()) {
            report.calls[r] = message_of(r).call;
        }
        block_.sync();
        if (block_.thread_rank() == 0) {
            report.sequence = sequence;
            store_release(&arguments_.rank_state->failed, 1);
            store_release(&report.status, static_cast<std::uint32_t>(CallStatus::mismatch));
        }
    }

    RONDO_DEVICE const MailboxMessage& message_of(std::uint32_t rank) const {
        return arguments_.incoming[rank]->entries[parity_].message;
    }

    // ---- steps

    RONDO_DEVICE bool run_step(const ProgramStep& step, std::uint32_t chunk) {
        const std::uint32_t position = epoch_ + chunk;
        const ProgramFlag* const flags = program_.flags + step.first_flag;
        const auto wait = [&](std::uint32_t i) {
            return FlagWait{.flag = of_replica(flags[i].flag),
                            .wanted = position * flags[i].per_chunk + flags[i].offset,
                            .number = flags[i].number};
        };
        const std::uint32_t wait_count = brief_ ? step.brief_waits : step.waits;
        if (wait_count != 0 && !block_.wait_all(wait_count, wait, limits())) {
            return false;
        }
        if (step.destinations != 0) {
            const ElementRange range = chunk_of(program_.units[step.unit], chunk);
            if (range.begin < range.end) {
                transfer(step, position, range);
            }
        }
        const ProgramFlag* const signals = flags + step.waits;
        const std::uint32_t signal_count = brief_ ? step.brief_signals : step.signals;
        if (signal_count != 0) {
            block_.sync();
            for (std::uint32_t i = block_.thread_rank(); i < signal_count; i += block_.size()) {
                block_.post(of_replica(signals[i].flag),
                            position * signals[i].per_chunk + signals[i].offset);
            }
        }
        return true;
    }

    RONDO_DEVICE std::uint32_t* of_replica(std::uint32_t* flag) const {
        return reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(flag) +
                                                replica_ * program_.flag_stride);
    }

    /// Where a part begins in this rank's buffers.
    RONDO_DEVICE std::uint64_t begin_of(std::uint32_t part, PartTable table) const {
        if (arguments_.uneven != 0) {
            return shared_.part_begins[table * (arguments_.ranks + 1) + part];
        }
        const std::uint64_t first = table == from_own_part ? arguments_.rank : 0;
        return (part - first) * arguments_.count;  // may be before: modulo 2^64
    }

    /// A chunk of this replica's share of a unit, within the unit's part. The chunks of replicas
    /// begin at different places, so that not all of them wait for their flags at the same time.
    RONDO_DEVICE ElementRange chunk_of(const ProgramUnit& unit, std::uint32_t chunk) const {
        const std::uint64_t count = arguments_.uneven != 0 ? begin_of(unit.part + 1, unit.table) -
                                                                 begin_of(unit.part, unit.table)
                                                           : arguments_.count;
        const ElementRange share = share_of(count, arguments_.grain_shift,
                                            {.unit_begin = unit.begin,
                                             .unit_end = unit.end,
                                             .replica_part = arguments_.replica_part,
                                             .replica = replica_,
                                             .replicas = program_.replicas});
        const std::uint64_t shift = chunks_ == 1 ? 0 : replica_ * arguments_.stagger;
        const std::uint64_t end = share.begin + (chunk + 1) * arguments_.chunk - shift;
        return {chunk == 0 ? share.begin : share.begin + chunk * arguments_.chunk - shift,
                end < share.end ? end : share.end};
    }

    /// Elements of the unit's part, cut where a segment ends.
    RONDO_DEVICE void transfer(const ProgramStep& step, std::uint32_t position,
                               const ElementRange& range) {
        const Segments* const segments = arguments_.message.segments;
        std::uint32_t segment = 0;
        std::uint64_t first = range.begin;
        RONDO_NO_UNROLL
        while (first < range.end) {
            std::uint64_t segment_begin = 0;
            std::uint64_t last = range.end;
            if (segments != nullptr) {
                while (segments->ends[segment] <= first) {
                    ++segment;
                }
                segment_begin = segment == 0 ? 0 : segments->ends[segment - 1];
                last = segments->ends[segment] < last ? segments->ends[segment] : last;
            }
            SharedStep& shared = shared_.steps[turn_];
            turn_ ^= 1;
            for (std::uint32_t i = block_.thread_rank(); i < step.sources + step.destinations;
                 i += block_.size()) {
                const ProgramSpan& span = program_.spans[step.first_span + i];
                std::byte* const address =
                    span.space == ProgramSpan::slot
                        ? slot_of(span, position) + (first - range.begin) * element_bytes<type>
                        : buffer_of(span, segment) + (first - segment_begin) * element_bytes<type>;
                if (i < step.sources) {
                    shared.sources[i] = address;
                    if constexpr (op == ReduceOp::premul_sum) {
                        shared.factors[i] = span.space == ProgramSpan::input
                                                ? message_from(span.rank).word
                                                : arguments_.one;
                    }
                } else {
                    shared.destinations[i - step.sources] = address;
                }
            }
            block_.sync();
            execute(step, shared, last - first);
            first = last;
        }
    }

    RONDO_DEVICE void execute(const ProgramStep& step, const SharedStep& shared,
                              std::uint64_t count) {
        ReduceStep work{.sources = shared.sources,
                        .destinations = shared.destinations,
                        .source_count = step.sources,
                        .destination_count = step.destinations,
                        .count = count,
                        .factors = shared.factors,
                        .divisor = step.finishes != 0 ? arguments_.divisor : 0};
        if constexpr (requires { Block::large_results; }) {
            work.result_bytes = result_bytes(step);
        }
        const bool scales = op == ReduceOp::premul_sum &&
                            program_.spans[step.first_span].space == ProgramSpan::input;
        if (step.sources == 1 && work.divisor == 0 && !scales) {
            work.count *= element_bytes<type>;
            copy_step(block_, work);
        } else {
            reduce_step<type, op>(block_, work);
        }
    }

    /// See ReduceStep. Whatever goes through a slot is read next.
    RONDO_DEVICE std::uint64_t result_bytes(const ProgramStep& step) const {
        for (std::uint32_t i = 0; i < step.destinations; ++i) {
            if (program_.spans[step.first_span + step.sources + i].space != ProgramSpan::output) {
                return 0;
            }
        }
        return arguments_.count * element_bytes<type> * arguments_.ranks;
    }

    RONDO_DEVICE std::byte* slot_of(const ProgramSpan& span, std::uint32_t position) const {
        const std::uint32_t slot = (position * span.per_chunk + span.position) & span.mask;
        return span.slots + replica_ * program_.slot_stride + slot * program_.slot_bytes;
    }

    /// A rank knows its own buffers before anybody has entered.
    RONDO_DEVICE const MailboxMessage& message_from(std::uint32_t rank) const {
        return rank == arguments_.rank ? arguments_.message : message_of(rank);
    }

    /// Where the unit's part, or the present segment, begins in a rank's buffer.
    RONDO_DEVICE std::byte* buffer_of(const ProgramSpan& span, std::uint32_t segment) const {
        const MailboxMessage& message = message_from(span.rank);
        const bool is_input = span.space == ProgramSpan::input;
        if (message.segments != nullptr) {
            const Segments& segments = *message.segments;
            return static_cast<std::byte*>(is_input ? segments.inputs[segment]
                                                    : segments.outputs[segment]);
        }
        void* const buffer = is_input ? const_cast<void*>(message.input) : message.output;
        const std::uint64_t begin = span.part == no_part ? 0 : begin_of(span.part, span.table);
        return static_cast<std::byte*>(buffer) + begin * element_bytes<type>;
    }

    Block& block_;
    const CallArguments& arguments_;
    const Program& program_;
    SharedProgram& shared_;
    const std::uint32_t index_;
    const std::uint32_t replica_;
    std::uint32_t epoch_ = 0;
    std::uint32_t chunks_ = 0;
    bool brief_ = false;
    std::uint32_t parity_ = 0;
    std::uint32_t turn_ = 0;
};

/// One call, or the calls of a group: block b runs call b / blocks_per_call of it and, where there
/// are more calls than blocks, those behind it at the same distance. All ranks have their calls in
/// one order, so what is first of all that is left always goes on.
template <ElementType type, ReduceOp op, class Block>
RONDO_DEVICE void program_body(Block& block, const ProgramArguments& arguments,
                               SharedProgram& shared) {
    if (arguments.part_begins != nullptr) {
        for (std::uint32_t i = block.thread_rank(); i < 2 * (arguments.call.ranks + 1);
             i += block.size()) {
            shared.part_begins[i] = arguments.part_begins[i];
        }
    }
    const bool alone = arguments.group == nullptr;
    const std::uint32_t blocks_per_call = alone ? block.count() : arguments.blocks_per_call;
    const std::uint32_t calls = alone ? 1 : arguments.group_size;
    const std::uint32_t index = block.index() % blocks_per_call;
    auto& call = reinterpret_cast<CallArguments&>(shared.call);
    RONDO_NO_UNROLL
    for (std::uint32_t i = block.index() / blocks_per_call; i < calls;
         i += block.count() / blocks_per_call) {
        block.sync();
        if (block.thread_rank() == 0) {
            // No pointer to either: parameters whose address is taken move to local memory.
            if (alone) {
                call = arguments.call;
            } else {
                call = arguments.group[i];
            }
        }
        block.sync();
        if (index < call.program->lane_count * call.program->replicas) {
            ProgramRun<type, op, Block>(block, call, shared, index).run();
        }
    }
}

}  // namespace rondo::kernels
