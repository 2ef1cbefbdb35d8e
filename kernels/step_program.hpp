// The kernel that runs programs, run with a program of one step: how tests and benchmarks reduce
// and copy whatever they like with it. Buffers come to it as they come in a call, by the mailboxes
// of ranks.
#pragma once

#include <bit>
#include <vector>

#include "cuda/buffer.hpp"
#include "kernels/fractions.hpp"
#include "kernels/launch.hpp"
#include "kernels/reduce_step.hpp"

namespace rondo::kernels {

/// What a rank brings to a call: its buffers or, in `segments`, several tensors.
struct RankPart {
    const void* input = nullptr;
    void* output = nullptr;
    std::uint64_t factor = 0;  ///< premul_sum: see argument_bits()
    const Segments* segments = nullptr;
};

/// One rank of a call, with everything that its kernel reads and writes in pinned memory.
class StepProgram {
public:
    explicit StepProgram(DeviceId device) : tables_(device, 1), device_(device) {
        Tables& here = tables_[0];
        here.program = {.lanes = seen(&here.lane),
                        .steps = seen(&here.step),
                        .spans = seen(here.spans),
                        .units = seen(&here.unit),
                        .state = seen(&here.state),
                        .lane_count = 1};
        here.lane.steps = 1;
        here.step.finishes = 1;
        for (std::uint32_t r = 0; r < max_ranks; ++r) {
            here.incoming_table[r] = seen(&here.incoming[r]);
            here.outgoing_table[r] = seen(&here.outgoing[r]);
        }
    }

    /// The first outputs of the parts become the reduction of their first inputs, or a copy where
    /// there is one only. No kernel of the program may run.
    void prepare(ElementType type, ReduceOp op, const std::vector<RankPart>& parts,
                 const ReduceStep& step, const LaunchOptions& options) {
        Tables& here = tables_[0];
        here.program.replicas = options.blocks;
        here.state = {};  // it counts the calls of every block, and their number changes
        here.step.sources = static_cast<std::uint16_t>(step.source_count);
        here.step.destinations = static_cast<std::uint16_t>(step.destination_count);
        for (std::uint32_t s = 0; s < step.source_count; ++s) {
            here.spans[s] = {.space = ProgramSpan::input, .rank = s};
        }
        for (std::uint32_t d = 0; d < step.destination_count; ++d) {
            here.spans[step.source_count + d] = {.space = ProgramSpan::output, .rank = d};
        }
        for (std::uint32_t r = 0; r < parts.size(); ++r) arrive(r, message_of(parts[r]));
        arguments_.call = call_arguments(0, static_cast<std::uint32_t>(parts.size()));
        arguments_.call.message = message_of(parts[0]);
        arguments_.call.one = argument_bits(type, 1);
        arguments_.call.count = step.count;
        arguments_.call.chunk = std::uint64_t{1} << 62;
        arguments_.call.grain_shift =
            static_cast<std::uint32_t>(std::countr_zero(64 / size_of(type)));
        arguments_.call.replica_part = fraction_of(1, options.blocks);
        arguments_.call.divisor = step.divisor;
        kernel_ = find_program_kernel(type, op);
        options_ = options;
        options_.cooperative = options.blocks > 1;  // all wait for the first
    }
    /// Does what was prepared. May be called many times.
    void launch(StreamRef stream) { kernels::launch(kernel_, arguments_, stream, options_); }

    // ---- entries alone: the ranks meet, and there is nothing else to do

    /// These are all the ranks, in their order. Their first call has this number.
    static void connect(std::vector<StepProgram>& ranks, std::uint32_t first_call) {
        for (std::uint32_t self = 0; self < ranks.size(); ++self) {
            Tables& here = ranks[self].tables_[0];
            here.lane.steps = 0;
            here.rank_state.sequence = first_call;
            for (std::uint32_t r = 0; r < ranks.size(); ++r) {
                Tables& there = ranks[r].tables_[0];
                here.outgoing_table[r] = ranks[r].seen(&there.incoming[self], ranks[self].device_);
                for (MailboxEntry& entry : here.incoming[r].entries) {
                    entry.arrived = first_call;
                }
            }
        }
    }
    /// Enters a call as rank `rank` of `ranks`.
    void enter(std::uint32_t rank, std::uint32_t ranks, StreamRef stream,
               std::uint64_t timeout_ns) {
        ProgramArguments arguments;
        arguments.call = call_arguments(rank, ranks);
        arguments.call.timeout_ns = timeout_ns;
        kernels::launch(find_program_kernel(ElementType::f32, ReduceOp::sum), arguments, stream,
                        {.threads = 32});
    }
    std::uint32_t calls() const { return tables_[0].rank_state.sequence; }
    std::string failure() const { return kernels::describe(tables_[0].records[0]); }
    const FailureRecord& record() const { return tables_[0].records[0]; }
    /// The word that ends its waits.
    std::uint32_t& abort_word() const { return tables_[0].abort; }

private:
    struct Tables {
        Program program;
        ProgramLane lane;
        ProgramStep step;
        ProgramUnit unit;
        ProgramState state;
        RankState rank_state;
        RankReport report;
        ProgramSpan spans[2 * max_step_spans];
        Mailbox incoming[max_ranks];
        Mailbox outgoing[max_ranks];
        Mailbox* incoming_table[max_ranks];
        Mailbox* outgoing_table[max_ranks];
        FailureRecord records[max_blocks];
        std::uint32_t abort;
    };

    static MailboxMessage message_of(const RankPart& part) {
        return {.input = part.input,
                .output = part.output,
                .segments = part.segments,
                .word = part.factor,
                .chunks = 1};
    }

    /// The rank has come to this call and to many behind it.
    void arrive(std::uint32_t rank, const MailboxMessage& message) {
        Tables& here = tables_[0];
        for (MailboxEntry& entry : here.incoming[rank].entries) {
            entry = {message, here.rank_state.sequence + (1u << 30)};
        }
    }

    CallArguments call_arguments(std::uint32_t rank, std::uint32_t ranks) const {
        Tables& here = tables_[0];
        return {.program = seen(&here.program),
                .rank_state = seen(&here.rank_state),
                .outgoing = seen(here.outgoing_table),
                .incoming = seen(here.incoming_table),
                .report = seen(&here.report),
                .records = seen(here.records),
                .abort = seen(&here.abort),
                .rank = rank,
                .ranks = ranks,
                .device = device_.value()};
    }

    /// As kernels on a device see it.
    template <class T>
    T* seen(T* pointer, DeviceId by) const {
        auto* const base = reinterpret_cast<std::byte*>(tables_.device_span(by).data());
        return reinterpret_cast<T*>(base + (reinterpret_cast<std::byte*>(pointer) -
                                            reinterpret_cast<std::byte*>(tables_.data())));
    }
    template <class T>
    T* seen(T* pointer) const {
        return seen(pointer, device_);
    }

    ProgramArguments arguments_;
    Kernel<ProgramArguments> kernel_;
    LaunchOptions options_;
    PinnedBuffer<Tables> tables_;
    DeviceId device_;
};

}  // namespace rondo::kernels
