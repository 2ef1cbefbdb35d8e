// Runs the program kernel's body for all ranks at once, a real thread per CUDA thread, under
// ThreadSanitizer: right, or with a seeded bug. program_races_test starts it as a child.
// Usage: race_program STRATEGY correct|missing_sync|relaxed_flag
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/fractions.hpp"
#include "kernels/program_body.hpp"
#include "kernels/thread_block.hpp"
#include "schedule/lower.hpp"
#include "tests/schedule/problems.hpp"

namespace {

using namespace rondo;
using namespace rondo::kernels;
using rondo::test::simple;

constexpr std::uint32_t ranks = 3;
constexpr std::uint32_t threads = 4;
constexpr std::uint64_t most = 500;  // elements
constexpr std::uint64_t slot_bytes = 256;
constexpr std::uint32_t grain_shift = 4;
constexpr std::uint32_t replicas = 2;

/// sync() does nothing where steps follow each other; waits still join the threads.
struct WithoutSync : ThreadBlock {
    using ThreadBlock::ThreadBlock;
    void sync() const {}
};

/// Flags carry nothing but themselves.
struct WithRelaxedFlag : ThreadBlock {
    using ThreadBlock::ThreadBlock;
    void post(std::uint32_t* flag, std::uint32_t value) const {
        FlagRef(*flag).store(value, cuda::std::memory_order_relaxed);
    }
};

/// What a communicator keeps for one rank, in plain memory.
struct Rank {
    LoweredProgram lowered;
    ProgramState state;
    Program program;
    RankState rank_state;
    std::vector<Mailbox> mailboxes = std::vector<Mailbox>(ranks);
    std::vector<Mailbox*> outgoing, incoming;
    RankReport report;
    std::vector<FailureRecord> records = std::vector<FailureRecord>(max_blocks);
    std::vector<std::uint32_t> calls = std::vector<std::uint32_t>(ranks);
    std::vector<float> input = std::vector<float>(most), output = std::vector<float>(most);
};

struct World {
    Schedule schedule;
    std::uint32_t copies;              ///< replicas
    std::vector<std::uint32_t> flags;  ///< of each replica
    std::vector<std::byte> slots;      ///< the same
    std::vector<std::unique_ptr<Rank>> all;
    std::uint32_t abort = 0;
    /// Where pointers lead that nobody has set: a seeded bug shall be reported, not crash.
    std::vector<float> unset = std::vector<float>(most);

    World(const Strategy& strategy, std::uint32_t replica_count)
        : schedule(simple(strategy, ranks)), copies(replica_count) {
        const Lowering lowering(schedule);
        const std::size_t flag_count = lowering.flags().size();
        std::vector<std::size_t> places;
        std::size_t slot_size = 0;
        for (const Channel& channel : schedule.channels) {
            places.push_back(slot_size);
            slot_size += channel.depth * slot_bytes;
        }
        flags.resize(copies * flag_count);
        slots.resize(copies * slot_size);
        const Placement placement{
            .flag = [this](std::size_t flag) { return &flags[flag]; },
            .slots = [this,
                      places](std::size_t channel) { return slots.data() + places[channel]; }};
        for (std::uint32_t r = 0; r < ranks; ++r) {
            Rank& rank = *all.emplace_back(std::make_unique<Rank>());
            rank.lowered = lowering.program(r, placement);
            rank.program = {.lanes = rank.lowered.lanes.data(),
                            .steps = rank.lowered.steps.data(),
                            .spans = rank.lowered.spans.data(),
                            .flags = rank.lowered.flags.data(),
                            .units = rank.lowered.units.data(),
                            .state = &rank.state,
                            .slot_bytes = slot_bytes,
                            .slot_stride = slot_size,
                            .flag_stride = flag_count * sizeof(std::uint32_t),
                            .lane_count = static_cast<std::uint32_t>(rank.lowered.lanes.size()),
                            .replicas = copies};
            rank.report.calls = rank.calls.data();
            for (std::uint64_t i = 0; i < most; ++i) rank.input[i] = static_cast<float>(r + i);
        }
        for (std::uint32_t r = 0; r < ranks; ++r) {
            for (std::uint32_t peer = 0; peer < ranks; ++peer) {
                all[r]->outgoing.push_back(&all[peer]->mailboxes[r]);
                all[r]->incoming.push_back(&all[r]->mailboxes[peer]);
            }
        }
    }

    ProgramArguments arguments(std::uint32_t r, std::uint64_t count) {
        Rank& rank = *all[r];
        const std::uint64_t chunk = slot_bytes / sizeof(float);
        const std::uint64_t stagger = chunk / copies >> grain_shift << grain_shift;
        const auto chunks =
            static_cast<std::uint32_t>((count + (copies - 1) * stagger + chunk - 1) / chunk);
        return {.call = {.program = &rank.program,
                         .rank_state = &rank.rank_state,
                         .outgoing = rank.outgoing.data(),
                         .incoming = rank.incoming.data(),
                         .report = &rank.report,
                         .records = rank.records.data(),
                         .abort = &abort,
                         .message = {.digest = count,
                                     .input = rank.input.data(),
                                     .output = rank.output.data(),
                                     .chunks = count <= chunk ? count != 0 : chunks},
                         .count = count,
                         .chunk = chunk,
                         .stagger = stagger,
                         .replica_part = fraction_of(1, copies),
                         .timeout_ns = 60'000'000'000,
                         .grain_shift = grain_shift,
                         .rank = r,
                         .ranks = ranks}};
    }

    /// One rank's part of a call: a real thread for every thread of every lane.
    template <class Block>
    void call(std::uint32_t r, std::uint64_t count) {
        std::vector<std::unique_ptr<ThreadGroup>> groups;
        std::vector<std::unique_ptr<SharedProgram>> shared;
        std::vector<std::jthread> running;
        const ThreadGrid grid{
            .blocks = static_cast<std::uint32_t>(all[r]->lowered.lanes.size()) * copies,
            .threads = threads};
        for (std::uint32_t lane = 0; lane < grid.blocks; ++lane) {
            ThreadGroup& group = *groups.emplace_back(std::make_unique<ThreadGroup>(threads));
            SharedProgram* const own = shared.emplace_back(new SharedProgram()).get();
            for (SharedStep& step : own->steps) {
                std::fill_n(step.sources, max_step_spans, unset.data());
                std::fill_n(step.destinations, max_step_spans, unset.data());
            }
            for (std::uint32_t thread = 0; thread < threads; ++thread) {
                running.emplace_back([this, &group, grid, lane, thread, r, own, count] {
                    Block block(group, grid, lane, thread);
                    program_body<ElementType::f32, ReduceOp::sum>(block, arguments(r, count), *own);
                });
            }
        }
    }

    bool is_right(std::uint32_t r, std::uint64_t count) const {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (all[r]->output[i] != static_cast<float>(3 + 3 * i)) {
                std::fprintf(stderr, "a call of %d: the output of rank %d is wrong at %d\n",
                             static_cast<int>(count), static_cast<int>(r), static_cast<int>(i));
                return false;
            }
        }
        return true;
    }
};

/// Every rank makes its calls one behind the other, as in a stream; no rank waits for another
/// between them.
template <class Block>
int run(const Strategy& strategy) {
    std::atomic<bool> right{true};
    for (const std::uint32_t copies : {1u, replicas}) {
        World world(strategy, copies);
        std::vector<std::jthread> streams;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            streams.emplace_back([&world, &right, r] {
                // Many chunks, one (a brief call from the second time on), none, and back.
                for (const int count : {500, 500, 20, 20, 33, 16, 0, 20, 20, 500, 1, 64, 2, 500}) {
                    world.call<Block>(r, static_cast<std::uint64_t>(count));
                    if (!world.is_right(r, static_cast<std::uint64_t>(count))) right = false;
                }
            });
        }
    }
    return right ? 0 : 3;
}

/// A seeded bug need not show at the first attempt. What it computes does not matter.
template <class Block>
int run_until_reported(const Strategy& strategy) {
    constexpr int attempts = 20;  // the sanitizer ends the program at its first report
    for (int i = 0; i < attempts; ++i) run<Block>(strategy);
    return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
    return "halt_on_error=1";
}

int main(int argc, char** argv) {
    const std::string_view variant = argc == 3 ? argv[2] : "";
    const Strategy strategy = argc == 3 ? parse_strategy(argv[1]) : Strategy();
    if (variant == "correct") return run<ThreadBlock>(strategy);
    if (variant == "missing_sync") return run_until_reported<WithoutSync>(strategy);
    if (variant == "relaxed_flag") return run_until_reported<WithRelaxedFlag>(strategy);
    std::fprintf(stderr, "usage: %s STRATEGY correct|missing_sync|relaxed_flag\n", argv[0]);
    return 2;
}
