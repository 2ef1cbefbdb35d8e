// Buffers that peers can't map although they reach the device: stand-ins are used where peers would
// touch them, and only there.
#include <thread>

#include "tests/communicator/fixture.hpp"
#include "tests/communicator/test_memory.hpp"
#include "tests/schedule/problems.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

/// A pool per rank, closed at first, and a tensor in each that holds 1.
class HiddenMemory : public testing::Test {
protected:
    static constexpr int ranks = 3;
    static constexpr std::size_t count = 5003;

    /// A tensor in a pool, holding `value` everywhere.
    static Tensor<float> pool_tensor(TestPool& pool, int device, float value) {
        auto* const data = reinterpret_cast<float*>(pool.allocate(count * sizeof(float)));
        const std::vector<float> values(count, value);
        expect_success(cudaMemcpy(data, values.data(), count * sizeof(float), cudaMemcpyDefault));
        return {device, data, count};
    }

    void SetUp() override {
        for (int rank = 0; rank < ranks; ++rank) {
            pools_.push_back(std::make_unique<TestPool>(rank));
            tensors_.push_back(pool_tensor(*pools_.back(), rank, 1));
        }
    }
    void TearDown() override {
        for (const Tensor<float>& tensor : tensors_) expect_success(cudaFree(tensor.data()));
    }
    void set_access(bool open) {
        for (const auto& pool : pools_) pool->set_access(open);
    }
    PerReplica<float> value() const { return PerReplica<float>(tensors_); }
    void expect_all(float expected) const {
        for (const Tensor<float>& tensor : tensors_) {
            EXPECT_EQ(values_of(tensor), std::vector<float>(count, expected));
        }
    }

    /// A way in which peers touch all buffers.
    static CallOptions direct_on(Communicator& comm) {
        return {.schedule = comm.add_schedule(simple(Strategy::direct(2), ranks))};
    }
    std::vector<std::unique_ptr<TestPool>> pools_;
    std::vector<Tensor<float>> tensors_;
};

TEST_F(HiddenMemory, IsStagedInStreamOrderAndNothingIsLeft) {
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    float expected = 1;
    for (int warm_up = 0; warm_up < 2; ++warm_up) {
        comm.all_reduce(ReduceOp::sum, value(), direct).wait();
        expected *= ranks;
    }
    const vgpu::Counters before = vgpu::counters();
    for (int call = 0; call < 5; ++call) {
        comm.all_reduce(ReduceOp::sum, value(), direct).wait();
        expected *= ranks;
    }
    const vgpu::Counters after = vgpu::counters();
    EXPECT_EQ(after.live_allocations, before.live_allocations);
    EXPECT_EQ(after.copies - before.copies, 5u * 2 * ranks);  // in and out
    EXPECT_EQ(after.launches - before.launches, 5u * ranks);
    expect_all(expected);
}

TEST_F(HiddenMemory, IsUsedAsItIsWhereNobodyElseTouchesIt) {
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    struct Row {
        Strategy strategy;
        std::uint64_t copies;
    };
    for (const Row& row : {Row{Strategy::direct(1), 0},     // all goes through channels
                           Row{Strategy::ring(), 3},        // results are put into all outputs
                           Row{Strategy::tree(2), 2},       // the root's output is its own
                           Row{Strategy::direct(2), 6}}) {  // inputs too
        const CallOptions options{.schedule = comm.add_schedule(simple(row.strategy, ranks))};
        comm.all_reduce(ReduceOp::max, value(), options).wait();
        const vgpu::Counters before = vgpu::counters();
        comm.all_reduce(ReduceOp::max, value(), options).wait();
        EXPECT_EQ(vgpu::counters().copies - before.copies, row.copies) << to_string(row.strategy);
    }
    expect_all(1);
}

TEST_F(HiddenMemory, AnOpenPoolIsUsedAsItIs) {
    set_access(true);
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    comm.all_reduce(ReduceOp::sum, value(), direct).wait();
    const vgpu::Counters before = vgpu::counters();
    comm.all_reduce(ReduceOp::sum, value(), direct).wait();
    EXPECT_EQ(vgpu::counters().copies, before.copies);
    expect_all(ranks * ranks);
}

TEST_F(HiddenMemory, APoolThatIsOpenToSomeIsStaged) {
    for (int closed_to = 1; closed_to < ranks; ++closed_to) {
        set_access(true);
        pools_[0]->set_access_of(closed_to, false);
        Communicator comm = Communicator::create(options_of(ranks));
        [[maybe_unused]] const CallOptions direct = direct_on(comm);
        comm.all_reduce(ReduceOp::max, value(), direct).wait();
        const vgpu::Counters before = vgpu::counters();
        comm.all_reduce(ReduceOp::max, value(), direct).wait();
        EXPECT_EQ(vgpu::counters().copies - before.copies, 2u);  // of rank 0 alone
        expect_all(1);
    }
}

TEST_F(HiddenMemory, AccessThatComesAndGoesIsSeen) {
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    float expected = 1;
    for (const bool open : {false, true, false, true}) {
        set_access(open);
        const vgpu::Counters before = vgpu::counters();
        comm.all_reduce(ReduceOp::sum, value(), direct).wait();
        EXPECT_EQ(vgpu::counters().copies == before.copies, open);
        expected *= ranks;
    }
    expect_all(expected);
}

// cudaFree() gives an address back, a pool may get it: now peers can't map it.
TEST_F(HiddenMemory, AnAddressThatAPoolTookOverIsStaged) {
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    const PerReplica<float> others = ramp(ranks, count);
    bool taken_over = false;
    for (int attempt = 0; attempt < 20 && !taken_over; ++attempt) {
        void* ordinary = nullptr;
        expect_success(cudaSetDevice(1));
        expect_success(cudaMalloc(&ordinary, count * sizeof(float)));
        expect_success(cudaMemset(ordinary, 0, count * sizeof(float)));
        const auto reduce_with = [&](float* data) {
            const PerReplica<float> value{others[0], {1, data, count}, others[2]};
            comm.all_reduce(ReduceOp::max, value, direct).wait();
        };
        reduce_with(static_cast<float*>(ordinary));
        expect_success(cudaFree(ordinary));
        const Tensor<float> in_pool = pool_tensor(*pools_[1], 1, 1e6F);
        taken_over = in_pool.data() == ordinary;
        reduce_with(in_pool.data());
        EXPECT_EQ(values_of(others[2]), std::vector<float>(count, 1e6F));
        expect_success(cudaFree(in_pool.data()));
    }
    if (!taken_over) GTEST_SKIP() << "no address was given to a pool that cudaFree() gave back";
}

TEST_F(HiddenMemory, OfOneRankOnlyConcernsNobodyElse) {
    for (int hidden = 0; hidden < ranks; ++hidden) {
        Communicator comm = Communicator::create(options_of(ranks));
        [[maybe_unused]] const CallOptions direct = direct_on(comm);
        const PerReplica<float> ordinary = ramp(ranks, count);
        const std::vector<float> sum = sum_of(ordinary);
        std::vector<std::vector<float>> results(ranks);
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                const auto r = static_cast<std::size_t>(rank);
                float* const own = ordinary[r].data();
                float* const data = rank == hidden ? tensors_[r].data() : own;
                if (rank == hidden) {
                    expect_success(cudaSetDevice(rank));
                    expect_success(cudaMemcpy(data, own, count * sizeof(float), cudaMemcpyDefault));
                }
                comm.rank(rank).all_reduce(ReduceOp::sum, data, data, count, direct).wait();
                results[r] = values_of(Tensor<float>(rank, data, count));
            });
        }
        threads.clear();
        EXPECT_EQ(results, std::vector<std::vector<float>>(ranks, sum));
    }
}

TEST_F(HiddenMemory, InBatches) {
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    const PerReplica<float> ordinary = ramp(ranks, 77);
    const std::vector<float> sum = sum_of(ordinary);
    const std::vector<Communicator::ReducePair<float>> pairs{
        {ordinary, ordinary}, {value(), value()}, {ordinary, ordinary}};
    const auto results = comm.batch_reduce(ReduceOp::sum, pairs, direct);
    for (const Mirrored<float>& result : {std::cref(results[0]), std::cref(results[2])}) {
        for (const Tensor<float>& tensor : result) EXPECT_EQ(values_of(tensor), sum);
    }
    for (const Tensor<float>& tensor : results[1]) {
        EXPECT_EQ(values_of(tensor), std::vector<float>(count, ranks));
    }
}

TEST_F(HiddenMemory, SentAndReceived) {
    Communicator comm = Communicator::create(options_of(ranks));
    [[maybe_unused]] const CallOptions direct = direct_on(comm);
    const PerReplica<float> ordinary = ramp(ranks, count);
    expect_success(cudaMemcpy(tensors_[2].data(), ordinary[2].data(), count * sizeof(float),
                              cudaMemcpyDefault));
    Work send = comm.rank(2).send(tensors_[2].data(), count, 0);
    Work receive = comm.rank(0).receive(tensors_[0].data(), count, 2);
    send.wait();
    receive.wait();
    EXPECT_EQ(values_of(tensors_[0]), values_of(ordinary[2]));
}

}  // namespace
}  // namespace rondo::test
