// The way of a call: first everything is prepared, then everything is launched; and what was once
// made serves later calls.
#include <fstream>
#include <random>

#include "tests/communicator/fixture.hpp"
#include "tests/schedule/problems.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

/// Calls every collective of a communicator once, with even or uneven parts.
void call_everything(Communicator& comm, const std::vector<Tensor<float>>& inputs,
                     const std::vector<Tensor<float>>& outputs, std::uint64_t count, bool uneven,
                     const CallOptions& options = {}) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto part = [&](std::size_t rank) {
        return uneven && rank % 2 == 1 ? count / 2 + rank : count;
    };
    const auto views = [&](const std::vector<Tensor<float>>& tensors, auto size_of_rank) {
        std::vector<Tensor<float>> result;
        for (std::size_t r = 0; r < ranks; ++r) {
            result.emplace_back(tensors[r].device(), tensors[r].data(), size_of_rank(r));
        }
        return PerReplica<float>(std::move(result));
    };
    std::uint64_t whole = 0;
    for (std::size_t r = 0; r < ranks; ++r) whole += part(r);
    const auto all = [whole](std::size_t) { return whole; };
    const auto one = [count](std::size_t) { return count; };
    comm.all_reduce(ReduceOp::sum, views(inputs, one), views(outputs, one), options);
    comm.reduce_scatter(ReduceOp::max, views(inputs, all), views(outputs, part), options);
    comm.all_gather(views(inputs, part), views(outputs, all), options);
    const PerReplica<float> parts = views(inputs, part);
    comm.gather(parts, Tensor<float>(outputs[0].device(), outputs[0].data(), whole), options);
    comm.scatter(Tensor<float>(inputs[1 % ranks].device(), inputs[1 % ranks].data(), whole),
                 views(outputs, part), options);
    if (uneven) {
        std::vector<std::uint64_t> counts;
        std::vector<std::uint64_t> sent(ranks), received(ranks);
        for (std::size_t from = 0; from < ranks; ++from) {
            for (std::size_t to = 0; to < ranks; ++to) {
                counts.push_back((from + to) % 3 == 0 ? 0 : count / ranks + from);
                sent[from] += counts.back();
                received[to] += counts.back();
            }
        }
        comm.all_to_all(views(inputs, [&](std::size_t r) { return sent[r]; }),
                        views(outputs, [&](std::size_t r) { return received[r]; }), counts,
                        options);
    } else {
        const auto even = [&](std::size_t) { return count / ranks * ranks; };
        comm.all_to_all(views(inputs, even), views(outputs, even), options);
    }
    comm.barrier(options).wait();
}

struct Buffers {
    std::vector<Tensor<float>> inputs, outputs;

    Buffers(int ranks, std::size_t count) {
        for (int rank = 0; rank < ranks; ++rank) {
            inputs.push_back(tensor_on(rank, std::vector<float>(count, 1)));
            outputs.push_back(tensor_on(rank, std::vector<float>(count)));
        }
    }
};

TEST(Launches, NeverAllocateFreeOrSynchroniseBetweenTheFirstAndTheLast) {
    for (const int ranks : {2, 5, 8}) {
        Communicator comm = Communicator::create(options_of(ranks));
        const Buffers buffers(ranks, 400'000);
        const PerReplica<float> value(buffers.inputs);
        const auto expect_quiet = [&](const std::string& what, auto call) {
            vgpu::record_calls();
            call();
            for (const vgpu::RecordedCall& call_made :
                 vgpu::disturbing_calls_between_launches(vgpu::recorded_calls())) {
                ADD_FAILURE() << what << ": " << to_string(call_made);
            }
        };
        std::vector<Strategy> strategies{Strategy()};
        for (const Strategy& strategy : sample_strategies()) strategies.push_back(strategy);
        for (const Strategy& strategy : strategies) {
            for (const std::size_t count : {1, 1000, 400'000}) {
                std::vector<Tensor<float>> part;
                for (const Tensor<float>& it : value)
                    part.emplace_back(it.device(), it.data(), count);
                // The first call of its kind, and a later one.
                for (int call = 0; call < 2; ++call) {
                    expect_quiet(to_string(strategy), [&] {
                        comm.all_reduce(ReduceOp::sum, PerReplica<float>(part),
                                        {.strategy = strategy});
                    });
                    comm.barrier().wait();
                }
            }
        }
    }
}

/// Between launches of different calls too, when the second is not the first of its kind.
TEST(Launches, AreQuietForEveryCollective) {
    Communicator comm = Communicator::create(options_of(4));
    const Buffers buffers(4, 50'000);
    for (const bool uneven : {false, true}) {
        call_everything(comm, buffers.inputs, buffers.outputs, 10'000, uneven);
        vgpu::record_calls();
        call_everything(comm, buffers.inputs, buffers.outputs, 10'000, uneven);
        for (const vgpu::RecordedCall& call :
             vgpu::disturbing_calls_between_launches(vgpu::recorded_calls())) {
            ADD_FAILURE() << to_string(call);
        }
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
#endif

/// A million where nothing slows them down.
int many_calls() {
    if (has_sanitizer) return 1'000;
    return vgpu::Options::from_environment().hostile ? 100'000 : 1'000'000;
}

/// Random collectives with random counts, even and uneven ones, by random strategies.
class RandomCalls {
public:
    explicit RandomCalls(int ranks)
        : comm_(Communicator::create(options_of(ranks))), ranks_(ranks) {}

    void run(int calls) {
        for (int i = 0; i < calls; ++i) {
            const std::size_t rank_count = random_() % 300;
            const CallOptions options{.strategy = strategies_[random_() % strategies_.size()]};
            std::vector<std::size_t> parts(static_cast<std::size_t>(ranks_), rank_count);
            if (random_() % 2 == 0) {
                for (std::size_t& part : parts) part = random_() % 300;
            }
            std::size_t whole = 0;
            for (const std::size_t part : parts) whole += part;
            const std::vector<std::size_t> wholes(parts.size(), whole);
            Work work;
            switch (random_() % 3) {
                case 0:
                    work =
                        comm_.all_reduce(ReduceOp::sum, inputs(wholes), outputs(wholes), options);
                    break;
                case 1:
                    work = comm_.reduce_scatter(ReduceOp::max, inputs(wholes), outputs(parts),
                                                options);
                    break;
                default:
                    work = comm_.all_gather(inputs(parts), outputs(wholes), options);
            }
            if (i % 16 == 0) work.wait();
        }
        comm_.barrier().wait();
    }

private:
    PerReplica<float> views(const std::vector<Tensor<float>>& tensors,
                            const std::vector<std::size_t>& sizes) const {
        std::vector<Tensor<float>> result;
        for (std::size_t r = 0; r < sizes.size(); ++r) {
            result.emplace_back(tensors[r].device(), tensors[r].data(), sizes[r]);
        }
        return PerReplica<float>(std::move(result));
    }
    PerReplica<float> inputs(const std::vector<std::size_t>& sizes) const {
        return views(buffers_.inputs, sizes);
    }
    PerReplica<float> outputs(const std::vector<std::size_t>& sizes) const {
        return views(buffers_.outputs, sizes);
    }

    Communicator comm_;
    int ranks_;
    Buffers buffers_{ranks_, 300 * static_cast<std::size_t>(ranks_)};
    std::mt19937 random_{7};
    std::vector<Strategy> strategies_{Strategy(), Strategy::ring(), Strategy::tree(2),
                                      Strategy::direct(2)};
};

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * 4096;
}

TEST(Memory, StaysFlatOverAMillionRandomCalls) {
    RandomCalls calls(3);
    calls.run(many_calls() / 10);
    const vgpu::Counters before = vgpu::counters();
    const vgpu::LiveMemory host = vgpu::live_host_memory();
    const std::size_t resident = resident_bytes();
    calls.run(many_calls());
    const vgpu::Counters after = vgpu::counters();
    EXPECT_EQ(after.live_allocations, before.live_allocations);
    EXPECT_EQ(after.live_events, before.live_events);
    EXPECT_EQ(after.live_streams, before.live_streams);
    EXPECT_EQ(vgpu::live_host_memory(), host);
    if (!has_sanitizer) {
        EXPECT_LE(resident_bytes(), resident + (std::size_t{4} << 20));
    }
}

/// Of every collective.
TEST(Memory, StaysFlatOverCallsOfEveryCollective) {
    constexpr int ranks = 3;
    Communicator comm = Communicator::create(options_of(ranks));
    const Buffers buffers(ranks, 20'000);
    std::mt19937 random(7);
    const auto call_some = [&](int calls) {
        for (int i = 0; i < calls; ++i) {
            call_everything(comm, buffers.inputs, buffers.outputs, random() % 3000, i % 2 == 0);
        }
    };
    call_some(100);
    const vgpu::Counters before = vgpu::counters();
    const vgpu::LiveMemory host = vgpu::live_host_memory();
    call_some(1000);
    const vgpu::Counters after = vgpu::counters();
    EXPECT_EQ(after.live_allocations, before.live_allocations);
    EXPECT_EQ(after.live_events, before.live_events);
    EXPECT_EQ(after.live_streams, before.live_streams);
    EXPECT_EQ(vgpu::live_host_memory(), host);
}

TEST(Memory, CommunicatorsThatComeAndGoLeaveNothing) {
    { Communicator::create(options_of(4)); }
    const vgpu::Counters before = vgpu::counters();
    const vgpu::LiveMemory host = vgpu::live_host_memory();
    for (int i = 0; i < 64; ++i) {
        Communicator comm = Communicator::create(options_of(4));
        const PerReplica<float> value = ramp(4, 1000);
        comm.all_reduce(ReduceOp::sum, value).wait();
        comm.rank(0).send(value[0].data(), 10, 1);
        comm.rank(1).receive(value[1].data(), 10, 0).wait();
    }
    const vgpu::Counters after = vgpu::counters();
    EXPECT_EQ(after.live_allocations, before.live_allocations);
    EXPECT_EQ(after.live_events, before.live_events);
    EXPECT_EQ(vgpu::live_host_memory(), host);
}

/// More plans than the cache keeps: the oldest make room, and all results stay right.
TEST(Plans, OldOnesMakeRoomForNewOnes) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 4096);
    const std::vector<float> largest = [&] {
        std::vector<float> result(4096);
        for (const Tensor<float>& tensor : value) {
            const std::vector<float> own = values_of(tensor);
            for (std::size_t i = 0; i < own.size(); ++i) result[i] = std::max(result[i], own[i]);
        }
        return result;
    }();
    for (int round = 0; round < 3; ++round) {
        for (std::uint32_t arity = 1; arity <= 90; ++arity) {
            comm.all_reduce(ReduceOp::max, value, {.strategy = Strategy::tree(arity)});
        }
    }
    comm.barrier().wait();
    for (const Tensor<float>& tensor : value) EXPECT_EQ(values_of(tensor), largest);
}

TEST(Batches, MayGrow) {
    Communicator comm = Communicator::create(options_of(3, std::chrono::seconds(60)));
    for (const std::size_t tensors : {2, 2, 40, 2, 4000, 40, 12'000}) {
        std::vector<Communicator::ReducePair<float>> pairs;
        const Buffers buffers(3, tensors * 3);
        for (std::size_t i = 0; i < tensors; ++i) {
            std::vector<Tensor<float>> parts;
            for (const Tensor<float>& input : buffers.inputs) {
                parts.emplace_back(input.device(), input.data() + 3 * i, 1 + i % 3);
            }
            const PerReplica<float> value(parts);
            pairs.emplace_back(value, Destinations(value));
        }
        Work work;
        const auto results = comm.batch_reduce(ReduceOp::sum, pairs, {.work = &work});
        work.wait();
        ASSERT_EQ(results.size(), tensors);
        for (std::size_t i : {std::size_t{0}, tensors / 2, tensors - 1}) {
            for (const Tensor<float>& tensor : results[i]) {
                EXPECT_EQ(values_of(tensor), std::vector<float>(1 + i % 3, 3));
            }
        }
    }
}

}  // namespace
}  // namespace rondo::test
