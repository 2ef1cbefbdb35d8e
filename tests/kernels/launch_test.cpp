// Launched kernels across several devices: reductions over peer memory, segment tables, names.
#include <numeric>

#include <gmock/gmock.h>

#include "cuda/device_guard.hpp"
#include "kernels/step_program.hpp"
#include "rondo/cuda_error.hpp"
#include "tests/kernels/launch_fixture.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;
using testing::ElementsAre;
using testing::HasSubstr;

using ReduceLaunch = LaunchTest;

TEST_F(ReduceLaunch, SumsTheMemoryOfAllPeersIntoAllPeers) {
    constexpr std::size_t count = 100'003;
    std::vector<DeviceBuffer<float>> inputs, outputs;
    std::vector<RankPart> parts;
    std::vector<float> expected(count);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = static_cast<float>((i * 7 + rank * 13) % 1000);
            expected[i] += values[i];
        }
        inputs.emplace_back(devices_[rank], count);
        outputs.emplace_back(devices_[rank], count);
        parts.push_back({inputs[rank].data(), outputs[rank].data()});
        write(streams_[rank], inputs[rank], values);
    }
    const auto all = static_cast<std::uint32_t>(ranks());
    StepProgram program(devices_[0]);
    program.prepare(ElementType::f32, ReduceOp::sum, parts,
                    {.source_count = all, .destination_count = all, .count = count}, {.blocks = 4});
    program.launch(streams_[0]);
    streams_[0].synchronize();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        EXPECT_EQ(read(streams_[rank], outputs[rank]), expected) << "rank " << rank;
    }
}

/// The tensors of one rank, with one element behind each, and their table.
struct SegmentedRank {
    std::vector<DeviceBuffer<std::int32_t>> inputs, outputs;
    PinnedBuffer<std::uint64_t> ends;
    PinnedBuffer<void*> input_table, output_table;
    PinnedBuffer<Segments> segments;

    SegmentedRank(StreamRef stream, const std::vector<std::uint64_t>& lengths, std::int32_t first)
        : ends(stream.device(), lengths.size()),
          input_table(stream.device(), lengths.size()),
          output_table(stream.device(), lengths.size()),
          segments(stream.device(), 1) {
        std::partial_sum(lengths.begin(), lengths.end(), ends.data());
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            std::vector<std::int32_t> values(lengths[i] + 1);
            std::iota(values.begin(), values.end(), static_cast<std::int32_t>(1000 * i) + first);
            write(stream, inputs.emplace_back(stream.device(), values.size()), values);
            std::ranges::fill(values, -7);
            write(stream, outputs.emplace_back(stream.device(), values.size()), values);
            input_table[i] = inputs[i].data();
            output_table[i] = outputs[i].data();
        }
        segments[0] = {.ends = ends.device_span().data(),
                       .inputs = input_table.device_span().data(),
                       .outputs = output_table.device_span().data()};
    }
};

TEST_F(ReduceLaunch, SegmentsAreReducedAsIfTheyLayBehindEachOther) {
    // Segments of very different lengths, an empty one among them, over more blocks than fit into
    // some of them.
    const std::vector<std::uint64_t> lengths{1, 0, 4000, 3, 1500, 77};
    std::vector<SegmentedRank> tensors;
    std::vector<RankPart> parts;
    for (std::int32_t rank = 0; rank < 3; ++rank) {
        tensors.emplace_back(streams_[0], lengths, rank);
        parts.push_back({.segments = tensors.back().segments.device_span().data()});
    }
    StepProgram program(devices_[0]);
    program.prepare(ElementType::i32, ReduceOp::sum, parts,
                    {.source_count = 3,
                     .destination_count = 1,
                     .count = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0})},
                    {.blocks = 5});
    program.launch(streams_[0]);
    streams_[0].synchronize();
    for (std::size_t segment = 0; segment < lengths.size(); ++segment) {
        const auto seen = read(streams_[0], tensors[0].outputs[segment]);
        for (std::size_t i = 0; i < lengths[segment]; ++i) {
            ASSERT_EQ(seen[i], static_cast<std::int32_t>(3 * (1000 * segment + i) + 3))
                << "segment " << segment << ", element " << i;
        }
        EXPECT_EQ(seen.back(), -7) << "written behind segment " << segment;
    }
}

TEST_F(ReduceLaunch, MoreBlocksThanElements) {
    const DeviceBuffer<std::uint8_t> input(devices_[0], 3), output(devices_[0], 3);
    write(streams_[0], input, {1, 2, 3});
    StepProgram program(devices_[0]);
    program.prepare(ElementType::u8, ReduceOp::max, {{input.data(), output.data()}},
                    {.source_count = 1, .destination_count = 1, .count = 3}, {.blocks = 32});
    for (int i = 0; i < 3; ++i) program.launch(streams_[0]);
    EXPECT_THAT(read(streams_[0], output), ElementsAre(1, 2, 3));
}

TEST_F(ReduceLaunch, BadLaunchNamesTheKernel) {
    const auto kernel = find_program_kernel(ElementType::f32, ReduceOp::sum);
    try {
        launch(kernel, ProgramArguments{}, streams_[0], {.blocks = 0});
        FAIL() << "a launch of no blocks went through";
    } catch (const CudaError& error) {
        EXPECT_THAT(error.what(), HasSubstr(kernel.name));
    }
}

TEST(FindKernel, EveryPairHasAKernelAndMeanHasTheOneOfSum) {
    for (const ElementType type : all_element_types) {
        for (const ReduceOp op : all_reduce_ops) {
            EXPECT_NE(find_program_kernel(type, op).entry, nullptr);
        }
        EXPECT_EQ(find_program_kernel(type, ReduceOp::mean).entry,
                  find_program_kernel(type, ReduceOp::sum).entry);
        EXPECT_NE(find_program_kernel(type, ReduceOp::min).entry,
                  find_program_kernel(type, ReduceOp::max).entry);
    }
}

TEST(FindKernel, ANumberThatIsNoTypeOrOperatorThrows) {
    EXPECT_THROW(find_program_kernel(static_cast<ElementType>(12), ReduceOp::sum), InvalidArgument);
    EXPECT_THROW(find_program_kernel(ElementType::f32, static_cast<ReduceOp>(6)), InvalidArgument);
}

TEST(ArgumentBits, FloatsByTheirBitsAndIntegersByTheirValue) {
    EXPECT_EQ(argument_bits(ElementType::f64, 0.1), 0x3fb999999999999aull);
    EXPECT_EQ(argument_bits(ElementType::f32, 1.5), 0x3fc00000u);
    EXPECT_EQ(argument_bits(ElementType::bf16, 1.5), 0x3fc00000u);
    EXPECT_EQ(argument_bits(ElementType::i8, -3.9) & 0xff, 0xfdu);
    EXPECT_EQ(argument_bits(ElementType::u64, 18446744073709549568.0), 18446744073709549568ull);
}

TEST(ArgumentBits, AFactorThatDoesNotFitIsNamed) {
    EXPECT_THROW(argument_bits(ElementType::i8, 128), InvalidArgument);
    EXPECT_THROW(argument_bits(ElementType::u32, -1), InvalidArgument);
    EXPECT_THROW(argument_bits(ElementType::u64, 18446744073709551616.0), InvalidArgument);
    EXPECT_THROW(argument_bits(ElementType::i32, std::numeric_limits<double>::quiet_NaN()),
                 InvalidArgument);
}

}  // namespace
}  // namespace rondo::test
