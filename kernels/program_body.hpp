// The kernel that runs any schedule: agrees with the other ranks on what is called, then runs one
// lane of the program chunk by chunk.
#pragma once

#include "kernels/bodies.hpp"
#include "kernels/program.hpp"
#include "kernels/program_numbers.hpp"

namespace rondo::kernels {

/// The pointers of a step, where all threads find them. Two of them are used in turn, so that one
/// sync() per step is enough.
struct SharedStep {
    const void* sources[max_step_spans];
    void* destinations[max_step_spans];
    std::uint64_t factors[max_step_spans];
};

template <ElementType type, ReduceOp op, class Block>
class ProgramRun {
public:
    RONDO_DEVICE ProgramRun(Block& block, const ProgramArguments& arguments, SharedStep* shared)
        : block_(block), arguments_(arguments), program_(*arguments.program), shared_(shared) {}

    /// One loop for the steps before and behind the entry, so that the code of a step exists once:
    /// twice would not fit into registers.
    RONDO_DEVICE void run() {
        const ProgramLane& lane = program_.lanes[block_.index()];  // a copy would cost registers
        std::uint32_t entry =
            block_.index() == 0 ? begin_call(lane) : 0;  // is behind so many steps
        std::uint32_t chunk = 0;
        std::uint32_t i = 0;
        RONDO_NO_UNROLL
        while (true) {
            if (i == entry) {
                if (!(block_.index() == 0 ? enter(lane) : follow(lane))) {
                    return;
                }
                entry = UINT32_MAX;  // over
            }
            if (i == lane.steps) {
                i = 0;
                chunk = next_chunk(chunk, lane.stride);
            }
            if (chunk >= arguments_.chunks || lane.steps == 0) {
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
                .records = arguments_.report->records,
                .device = arguments_.device};
    }

    /// The last chunk is always among them.
    RONDO_DEVICE std::uint32_t next_chunk(std::uint32_t chunk, std::uint32_t stride) const {
        const std::uint32_t last = arguments_.chunks - 1;
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

    // ---- entry

    /// Lane 0: finds out where the call is, and how many steps come before its entry.
    RONDO_DEVICE std::uint32_t begin_call(const ProgramLane& lane) {
        const ProgramState& state = *program_.state;
        epoch_ = state.next_epoch;
        brief_ = arguments_.chunks == 1 && epoch_ - state.epoch <= 1 && epoch_ % brief_period != 0;
        parity_ = arguments_.rank_state->sequence % 2;
        if (!brief_ || lane.early_steps == 0 || load_acquire(&arguments_.rank_state->failed) != 0) {
            return 0;
        }
        // They find the rank's own buffers as others do.
        if (block_.thread_rank() == 0) {
            arguments_.outgoing[arguments_.rank]->entries[parity_].message = arguments_.message;
        }
        block_.sync();
        return lane.early_steps;
    }

    /// Lane 0: publishes the call, waits for all ranks, compares, and lets the other lanes go. Its
    /// arrival also says that what the early steps pushed has arrived.
    RONDO_DEVICE bool enter(const ProgramLane& lane) {
        RankState& rank_state = *arguments_.rank_state;
        ProgramState& state = *program_.state;
        const std::uint32_t sequence = rank_state.sequence;
        const std::uint32_t calls = state.calls[0];
        block_.sync();
        const bool usable = load_acquire(&rank_state.failed) == 0;
        const bool agreed = usable && exchange(sequence);
        block_.sync();
        if (block_.thread_rank() == 0) {
            state.calls[0] = calls + 1;
            if (agreed) {
                rank_state.sequence = sequence + 1;
                state.epoch = epoch_;
                state.next_epoch = epoch_ + arguments_.chunks;
                state.brief = brief_ ? 1 : 0;
            }
        }
        block_.signal(&state.go, calls + 1);
        if (agreed && !brief_) {
            catch_up(lane);
        }
        return agreed;
    }

    /// The other lanes.
    RONDO_DEVICE bool follow(const ProgramLane& lane) {
        ProgramState& state = *program_.state;
        const std::uint32_t calls = state.calls[block_.index()];
        const FlagWait wait{.flag = &state.go, .wanted = calls + 1, .number = go_flag_number};
        if (!block_.wait(wait, limits(2))) {
            fail();
            return false;
        }
        if (block_.thread_rank() == 0) {
            state.calls[block_.index()] = calls + 1;
        }
        epoch_ = state.epoch;
        brief_ = state.brief != 0;
        parity_ = (arguments_.rank_state->sequence - 1) % 2;  // lane 0 has counted the call
        if (load_acquire(&arguments_.rank_state->failed) != 0) {
            return false;
        }
        if (!brief_) {
            catch_up(lane);
        }
        return true;
    }

    /// Brings flags that brief calls left out to where this call begins.
    RONDO_DEVICE void catch_up(const ProgramLane& lane) {
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
            entry.message = arguments_.message;
            block_.post(&entry.arrived, sequence + 1);
        }
        const auto arrival = [&](std::uint32_t r) {
            return FlagWait{.flag = &arguments_.incoming[r]->entries[parity_].arrived,
                            .wanted = sequence + 1,
                            .number = r};
        };
        if (!block_.wait_all(ranks, arrival, limits())) {
            fail();
            return false;
        }
        const Signature signature = arguments_.message.signature;
        bool differs = false;
        for (std::uint32_t r = block_.thread_rank(); r < ranks; r += block_.size()) {
            differs |= !(message_of(r).signature == signature);
        }
        if (block_.any(differs)) {
            report_mismatch(sequence);
            return false;
        }
        return true;
    }

    RONDO_DEVICE void report_mismatch(std::uint32_t sequence) {
        RankReport& report = *arguments_.report;
        for (std::uint32_t r = block_.thread_rank(); r < arguments_.ranks; r += block_.size()) {
            report.signatures[r] = message_of(r).signature;
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
            return FlagWait{.flag = flags[i].flag,
                            .wanted = position * flags[i].per_chunk + flags[i].offset,
                            .number = flags[i].number};
        };
        const std::uint32_t wait_count = brief_ ? step.brief_waits : step.waits;
        if (wait_count != 0 && !block_.wait_all(wait_count, wait, limits())) {
            return false;
        }
        if (step.destinations != 0) {
            const std::uint64_t unit_end = begin_of(step.unit + 1);
            const std::uint64_t begin = begin_of(step.unit) + chunk * arguments_.chunk;
            if (begin < unit_end) {
                const std::uint64_t rest = unit_end - begin;
                transfer(step, position, begin,
                         begin + (rest < arguments_.chunk ? rest : arguments_.chunk));
            }
        }
        const ProgramFlag* const signals = flags + step.waits;
        const std::uint32_t signal_count = brief_ ? step.brief_signals : step.signals;
        if (signal_count != 0) {
            block_.sync();
            for (std::uint32_t i = block_.thread_rank(); i < signal_count; i += block_.size()) {
                block_.post(signals[i].flag, position * signals[i].per_chunk + signals[i].offset);
            }
        }
        return true;
    }

    /// Where a unit begins in the whole message: every share of it has `share` grains, the first
    /// ones one more.
    RONDO_DEVICE std::uint64_t begin_of(std::uint32_t unit) const {
        const std::uint64_t shares = program_.unit_begins[unit];
        const std::uint64_t extra =
            shares < arguments_.extra_shares ? shares : arguments_.extra_shares;
        const std::uint64_t begin = (arguments_.share * shares + extra) * arguments_.grain;
        const std::uint64_t count = arguments_.message.signature.count;
        return begin < count ? begin : count;
    }

    /// Elements [begin, end) of the message, cut where a segment ends.
    RONDO_DEVICE void transfer(const ProgramStep& step, std::uint32_t position, std::uint64_t begin,
                               std::uint64_t end) {
        const Segments* const segments = arguments_.message.segments;
        std::uint32_t segment = 0;
        std::uint64_t first = begin;
        RONDO_NO_UNROLL
        while (first < end) {
            std::uint64_t segment_begin = 0;
            std::uint64_t last = end;
            if (segments != nullptr) {
                while (segments->ends[segment] <= first) {
                    ++segment;
                }
                segment_begin = segment == 0 ? 0 : segments->ends[segment - 1];
                last = segments->ends[segment] < end ? segments->ends[segment] : end;
            }
            SharedStep& shared = shared_[turn_];
            turn_ ^= 1;
            for (std::uint32_t i = block_.thread_rank(); i < step.sources + step.destinations;
                 i += block_.size()) {
                const ProgramSpan& span = program_.spans[step.first_span + i];
                std::byte* const address =
                    span.space == ProgramSpan::slot
                        ? slot_of(span, position) + (first - begin) * element_bytes<type>
                        : buffer_of(span, segment, segment_begin) +
                              (first - segment_begin) * element_bytes<type>;
                if (i < step.sources) {
                    shared.sources[i] = address;
                    if constexpr (op == ReduceOp::premul_sum) {
                        shared.factors[i] = span.space == ProgramSpan::input
                                                ? message_of(span.rank).factor
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
        const bool scales = op == ReduceOp::premul_sum &&
                            program_.spans[step.first_span].space == ProgramSpan::input;
        if (step.sources == 1 && work.divisor == 0 && !scales) {
            work.count *= element_bytes<type>;
            copy_step(block_, work);
        } else {
            reduce_step<type, op>(block_, work);
        }
    }

    RONDO_DEVICE std::byte* slot_of(const ProgramSpan& span, std::uint32_t position) const {
        const std::uint32_t slot = (position * span.per_chunk + span.position) & span.mask;
        return span.slots + slot * program_.slot_bytes;
    }

    /// Where the present segment of a rank's buffer begins.
    RONDO_DEVICE std::byte* buffer_of(const ProgramSpan& span, std::uint32_t segment,
                                      std::uint64_t segment_begin) const {
        const MailboxMessage& message = message_of(span.rank);
        if (message.segments != nullptr) {
            const Segments& segments = *message.segments;
            return static_cast<std::byte*>(span.space == ProgramSpan::input
                                               ? segments.inputs[segment]
                                               : segments.outputs[segment]);
        }
        void* const buffer =
            span.space == ProgramSpan::input ? const_cast<void*>(message.input) : message.output;
        return static_cast<std::byte*>(buffer) +
               (segment_begin - begin_of(span.base_unit)) * element_bytes<type>;
    }

    Block& block_;
    const ProgramArguments& arguments_;
    const Program& program_;
    SharedStep* shared_;
    std::uint32_t epoch_ = 0;
    bool brief_ = false;
    std::uint32_t parity_ = 0;
    std::uint32_t turn_ = 0;
};

template <ElementType type, ReduceOp op, class Block>
RONDO_DEVICE void program_body(Block& block, const ProgramArguments& arguments,
                               SharedStep* shared) {
    ProgramRun<type, op, Block>(block, arguments, shared).run();
}

}  // namespace rondo::kernels
