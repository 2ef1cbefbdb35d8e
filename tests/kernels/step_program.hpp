// The kernel that ships, run with a program of one step: how tests reduce and copy whatever they
// like with it. Buffers come to it as they come in a call, by the mailboxes of ranks.
#pragma once

#include <bit>
#include <vector>

#include "cuda/buffer.hpp"
#include "kernels/fractions.hpp"
#include "kernels/launch.hpp"
#include "kernels/reduce_step.hpp"

namespace rondo::test {

/// What a rank brings to a call: its buffers or, in `segments`, several tensors.
struct RankPart {
    const void* input = nullptr;
    void* output = nullptr;
    std::uint64_t factor = 0;  ///< premul_sum: see argument_bits()
    const kernels::Segments* segments = nullptr;
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
        for (std::uint32_t r = 0; r < kernels::max_ranks; ++r) {
            here.incoming_table[r] = seen(&here.incoming[r]);
            here.outgoing_table[r] = seen(&here.outgoing[r]);
        }
    }

    /// The first outputs of the parts become the reduction of their first inputs, or a copy where
    /// there is one only. Returns at once; the next must not come before the kernel has ended.
    void reduce(ElementType type, ReduceOp op, const std::vector<RankPart>& parts,
                const kernels::ReduceStep& step, StreamRef stream,
                const kernels::LaunchOptions& options) {
        Tables& here = tables_[0];
        here.program.replicas = options.blocks;
        here.state = {};  // it counts the calls of every block, and their number changes
        here.step.sources = static_cast<std::uint16_t>(step.source_count);
        here.step.destinations = static_cast<std::uint16_t>(step.destination_count);
        for (std::uint32_t s = 0; s < step.source_count; ++s) {
            here.spans[s] = {.space = kernels::ProgramSpan::input, .rank = s};
        }
        for (std::uint32_t d = 0; d < step.destination_count; ++d) {
            here.spans[step.source_count + d] = {.space = kernels::ProgramSpan::output, .rank = d};
        }
        for (std::uint32_t r = 0; r < parts.size(); ++r) {  // all have come already
            arrive(r, message_of(parts[r]));
        }
        kernels::ProgramArguments arguments;
        arguments.call = call_arguments(0, static_cast<std::uint32_t>(parts.size()));
        arguments.call.message = message_of(parts[0]);
        arguments.call.one = kernels::argument_bits(type, 1);
        arguments.call.count = step.count;
        arguments.call.chunk = std::uint64_t{1} << 62;
        arguments.call.grain_shift =
            static_cast<std::uint32_t>(std::countr_zero(64 / size_of(type)));
        arguments.call.replica_part = kernels::fraction_of(1, options.blocks);
        arguments.call.divisor = step.divisor;
        kernels::LaunchOptions launched = options;
        launched.cooperative = options.blocks > 1;  // all wait for the first
        kernels::launch(kernels::find_program_kernel(type, op), arguments, stream, launched);
    }

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
                for (kernels::MailboxEntry& entry : here.incoming[r].entries) {
                    entry.arrived = first_call;
                }
            }
        }
    }
    /// Enters a call as rank `rank` of `ranks`.
    void enter(std::uint32_t rank, std::uint32_t ranks, StreamRef stream,
               std::uint64_t timeout_ns) {
        kernels::ProgramArguments arguments;
        arguments.call = call_arguments(rank, ranks);
        arguments.call.timeout_ns = timeout_ns;
        kernels::launch(kernels::find_program_kernel(ElementType::f32, ReduceOp::sum), arguments,
                        stream, {.threads = 32});
    }
    std::uint32_t calls() const { return tables_[0].rank_state.sequence; }
    std::string failure() const { return kernels::describe(tables_[0].records[0]); }
    const kernels::FailureRecord& record() const { return tables_[0].records[0]; }
    /// The word that ends its waits.
    std::uint32_t& abort_word() const { return tables_[0].abort; }

private:
    struct Tables {
        kernels::Program program;
        kernels::ProgramLane lane;
        kernels::ProgramStep step;
        kernels::ProgramUnit unit;
        kernels::ProgramState state;
        kernels::RankState rank_state;
        kernels::RankReport report;
        kernels::ProgramSpan spans[2 * kernels::max_step_spans];
        kernels::Mailbox incoming[kernels::max_ranks];
        kernels::Mailbox outgoing[kernels::max_ranks];
        kernels::Mailbox* incoming_table[kernels::max_ranks];
        kernels::Mailbox* outgoing_table[kernels::max_ranks];
        kernels::FailureRecord records[kernels::max_blocks];
        std::uint32_t abort;
    };

    static kernels::MailboxMessage message_of(const RankPart& part) {
        return {.input = part.input,
                .output = part.output,
                .segments = part.segments,
                .word = part.factor,
                .chunks = 1};
    }

    void arrive(std::uint32_t rank, const kernels::MailboxMessage& message) {
        Tables& here = tables_[0];
        const std::uint32_t sequence = here.rank_state.sequence;
        here.incoming[rank].entries[sequence % 2] = {message, sequence + 1};
    }

    kernels::CallArguments call_arguments(std::uint32_t rank, std::uint32_t ranks) const {
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
        return reinterpret_cast<T*>(
            base + (reinterpret_cast<std::byte*>(pointer) -
                    reinterpret_cast<std::byte*>(tables_.data())));
    }
    template <class T>
    T* seen(T* pointer) const {
        return seen(pointer, device_);
    }

    PinnedBuffer<Tables> tables_;
    DeviceId device_;
};

}  // namespace rondo::test
