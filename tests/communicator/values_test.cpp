// reduce, batch_reduce and broadcast: results on the named devices, packing, mean, single values.
#include <cmath>
#include <random>

#include "tests/communicator/fixture.hpp"

namespace rondo::test {
namespace {

std::vector<float> scaled(std::vector<float> values, float factor) {
    for (float& value : values) value *= factor;
    return values;
}

TEST(Reduce, ToOneDeviceToSeveralAndToAll) {
    Communicator comm = Communicator::create(options_of(5));
    const PerReplica<float> value = ramp(5, 777);
    const std::vector<float> sum = sum_of(value);
    for (const std::vector<int>& devices :
         {std::vector{2}, std::vector{4, 1}, std::vector{0, 1, 2, 3, 4}}) {
        for (const Strategy& strategy :
             {Strategy(), Strategy::ring(), Strategy::tree(2), Strategy::centralized(),
              Strategy::hierarchical_copy(3), Strategy::reduction_to_one_device(3)}) {
            const Mirrored<float> result =
                comm.reduce(ReduceOp::sum, value, Destinations(devices), {.strategy = strategy});
            ASSERT_EQ(result.size(), devices.size());
            for (std::size_t i = 0; i < devices.size(); ++i) {
                EXPECT_EQ(result[i].device(), devices[i]);
                EXPECT_EQ(values_of(result.on_device(devices[i])), sum) << to_string(strategy);
            }
        }
    }
    EXPECT_EQ(sum_of(value), sum);  // the inputs are untouched
}

TEST(Reduce, MeanOfOddNumbersOfDevices) {
    for (const int ranks : {3, 5, 7, 8}) {
        Communicator comm = Communicator::create(options_of(ranks));
        std::vector<Tensor<float>> tensors;
        for (int rank = 0; rank < ranks; ++rank) {
            tensors.push_back(tensor_on(rank, std::vector<float>(100, static_cast<float>(rank))));
        }
        const PerReplica<float> value(std::move(tensors));
        for (int packs = 1; packs <= 2 * ranks; ++packs) {
            const CallOptions options{.strategy = Strategy::hierarchical_copy(packs)};
            const float mean = static_cast<float>(ranks - 1) / 2;
            for (const auto& tensor : comm.reduce(ReduceOp::mean, value, value, options)) {
                EXPECT_EQ(values_of(tensor), std::vector<float>(100, mean));
            }
            const float sum = mean * static_cast<float>(ranks);
            for (const auto& tensor : comm.reduce(ReduceOp::sum, value, value, options)) {
                EXPECT_EQ(values_of(tensor), std::vector<float>(100, sum));
            }
        }
    }
}

/// HierarchicalCopyAllReduce of TensorFlow on 8 devices: each half is added up in the order of
/// devices by its head, then the two sums. All packs give the same bits, whoever their heads are,
/// because the sum of two does not depend on their order.
TEST(Reduce, HierarchicalCopyIsTensorFlowsToTheLastBit) {
    constexpr int ranks = 8, half = ranks / 2;
    constexpr std::size_t count = 1009;
    Communicator comm = Communicator::create(options_of(ranks));
    std::mt19937 random(1);
    std::uniform_real_distribution<float> mantissa(-1, 1);
    std::vector<std::vector<float>> inputs(ranks, std::vector<float>(count));
    std::vector<Tensor<float>> tensors;
    for (int rank = 0; rank < ranks; ++rank) {
        auto& values = inputs[static_cast<std::size_t>(rank)];
        for (float& value : values) {
            value = std::ldexp(mantissa(random), static_cast<int>(random() % 24));
        }
        tensors.push_back(tensor_on(rank, values));
    }
    const PerReplica<float> value(std::move(tensors));
    std::vector<float> sums(count), means(count);
    std::size_t differs_in_order_of_ranks = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto add_up = [&](std::size_t first, std::size_t last) {
            float sum = inputs[first][i];
            for (std::size_t rank = first + 1; rank < last; ++rank) sum += inputs[rank][i];
            return sum;
        };
        sums[i] = add_up(0, half) + add_up(half, ranks);
        means[i] = sums[i] / ranks;
        differs_in_order_of_ranks += sums[i] != add_up(0, ranks) ? 1 : 0;
    }
    EXPECT_GT(differs_in_order_of_ranks, count / 10);  // otherwise any order would do
    for (int packs = 1; packs <= 2 * ranks; ++packs) {
        const CallOptions options{.strategy = Strategy::hierarchical_copy(packs)};
        for (const auto& tensor : comm.reduce(ReduceOp::sum, value, value, options)) {
            EXPECT_EQ(values_of(tensor), sums) << packs << " packs";
        }
        for (const auto& tensor : comm.reduce(ReduceOp::mean, value, value, options)) {
            EXPECT_EQ(values_of(tensor), means) << packs << " packs";
        }
    }
}

TEST(Reduce, OneValueIsCopied) {
    Communicator comm = Communicator::create(options_of(3));
    const Tensor<float> value = tensor_on(1, {1, 2, 3});
    const Mirrored<float> same = comm.reduce(ReduceOp::mean, value, value);
    EXPECT_EQ(values_of(same[0]), values_of(value));
    EXPECT_NE(same[0].data(), value.data());
    const Mirrored<float> elsewhere = comm.reduce(ReduceOp::mean, value, Destinations{0, 2});
    EXPECT_EQ(values_of(elsewhere.on_device(0)), values_of(value));
    EXPECT_EQ(values_of(elsewhere.on_device(2)), values_of(value));
}

TEST(Broadcast, FromAnyDeviceToAny) {
    Communicator comm = Communicator::create(options_of(4));
    for (const Strategy& strategy :
         {Strategy(), Strategy::ring(), Strategy::tree(2), Strategy::centralized()}) {
        const Tensor<float> value = tensor_on(2, std::vector<float>(1001, 7));
        const Mirrored<float> copies =
            comm.broadcast(value, Destinations{3, 0}, {.strategy = strategy});
        ASSERT_EQ(copies.size(), 2u);
        for (const auto& copy : copies) EXPECT_EQ(values_of(copy), values_of(value));
    }
}

TEST(BatchReduce, ManyTensorsOfAnySizeAsOneMessage) {
    Communicator comm = Communicator::create(options_of(4));
    for (const Strategy& strategy :
         {Strategy(), Strategy::ring(), Strategy::hierarchical_copy(1),
          Strategy::hierarchical_copy(3), Strategy::hierarchical_copy(8), Strategy::tree(2)}) {
        std::vector<Communicator::ReducePair<float>> pairs;
        for (const std::size_t count : {5u, 0u, 1u, 30000u, 17u, 4096u}) {
            const PerReplica<float> value = ramp(4, count, static_cast<float>(pairs.size()));
            pairs.emplace_back(value, value);
        }
        const auto sums = comm.batch_reduce(ReduceOp::sum, pairs, {.strategy = strategy});
        const auto means = comm.batch_reduce(ReduceOp::mean, pairs, {.strategy = strategy});
        ASSERT_EQ(sums.size(), pairs.size());
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const std::vector<float> sum = sum_of(pairs[p].first);
            for (std::size_t r = 0; r < 4; ++r) {
                EXPECT_EQ(values_of(sums[p][r]), sum) << to_string(strategy) << " tensor " << p;
                EXPECT_EQ(values_of(means[p][r]), scaled(sum, 0.25f));
            }
        }
    }
}

TEST(BatchReduce, DestinationsThatDifferGoOneByOne) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> a = ramp(3, 10), b = ramp(3, 20, 5);
    const auto results = comm.batch_reduce<float>(ReduceOp::sum, {{a, a}, {b, Destinations{1}}});
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].size(), 3u);
    ASSERT_EQ(results[1].size(), 1u);
    EXPECT_EQ(values_of(results[1].on_device(1)), sum_of(b));
    EXPECT_TRUE(comm.batch_reduce<float>(ReduceOp::sum, {}).empty());
}

TEST(Values, SizesThatNoMemoryHasAreRefused) {
    EXPECT_THROW(Tensor<float>::allocate(0, std::size_t{1} << 62),
                 InvalidArgument);  // 0 bytes, modulo 2^64
    EXPECT_THROW(Tensor<float>::allocate(0, std::size_t{1} << 50), CudaError);
}

TEST(Values, WrongOnesAreNamed) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 10);
    EXPECT_EQ(error_of<InvalidArgument>(
                  [&] { comm.reduce(ReduceOp::sum, value, Destinations(std::vector<int>{})); }),
              "destinations can not be empty");
    EXPECT_EQ(error_of<InvalidArgument>([&] { comm.reduce(ReduceOp::sum, value, 7); }),
              "destination device 7 is not in the communicator, which has [0, 1, 2]");
    EXPECT_EQ(
        error_of<InvalidArgument>([&] { comm.reduce(ReduceOp::sum, PerReplica<float>(), 1); }),
        "a value without components can not be reduced");
    const PerReplica<float> short_value{value[0], value[1]};
    EXPECT_EQ(error_of<InvalidArgument>([&] { comm.reduce(ReduceOp::sum, short_value, 1); }),
              "2 inputs were given for 3 ranks");
    const PerReplica<float> unequal{value[0], tensor_on(1, {1}), value[2]};
    EXPECT_EQ(error_of<InvalidArgument>([&] { comm.reduce(ReduceOp::sum, unequal, 1); }),
              "component 1 of a value has 1 elements, the first 10");
    EXPECT_EQ(error_of<InvalidArgument>([&] {
                  comm.batch_reduce<float>(ReduceOp::sum, {{unequal, unequal}});
              }),
              "component 1 of a value has 1 elements, the first 10");
    const PerReplica<float> elsewhere{value[1], value[0], value[2]};
    EXPECT_EQ(error_of<InvalidArgument>([&] { comm.all_reduce(ReduceOp::sum, elsewhere); }),
              "the inputs of rank 0 is on device 1, the rank on 0");
    comm.all_reduce(ReduceOp::sum, value).wait();  // and it still works
}

TEST(Explain, NamesTheStrategyTheRunnerUpAndTheReason) {
    Communicator comm = Communicator::create(options_of(4));
    const Explanation chosen = comm.explain(Collective::all_reduce, ElementType::f32, 1 << 20);
    EXPECT_EQ(chosen.strategy, Strategy::direct(2));  // virtual GPUs in one memory
    EXPECT_GE(chosen.blocks, 1u);
    EXPECT_GT(chosen.seconds, 0);
    EXPECT_NE(chosen.runner_up, chosen.strategy);
    EXPECT_NE(chosen.runner_up, Strategy::automatic());
    EXPECT_GT(chosen.runner_up_seconds, 0);
    EXPECT_NE(chosen.reason.find("direct(2) takes"), std::string::npos) << chosen.reason;
    const Explanation asked = comm.explain(Collective::all_reduce, ElementType::f32, 1 << 20,
                                           {.strategy = Strategy::ring()});
    EXPECT_EQ(asked.strategy, Strategy::ring());
    EXPECT_NE(asked.reason.find("ring was asked for"), std::string::npos) << asked.reason;
    EXPECT_GT(asked.seconds, 0);
}

}  // namespace
}  // namespace rondo::test
