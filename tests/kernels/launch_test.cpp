// Launched kernels across several devices: reductions over peer memory, segment tables, names.
#include <numeric>

#include <gmock/gmock.h>

#include "cuda/device_guard.hpp"
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
    ReduceArguments arguments{.count = count,
                              .source_count = static_cast<std::uint32_t>(ranks()),
                              .destination_count = static_cast<std::uint32_t>(ranks())};
    std::vector<float> expected(count);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = static_cast<float>((i * 7 + rank * 13) % 1000);
            expected[i] += values[i];
        }
        arguments.sources[rank] = inputs.emplace_back(devices_[rank], count).data();
        arguments.destinations[rank] = outputs.emplace_back(devices_[rank], count).data();
        write(streams_[rank], inputs[rank], values);
    }
    launch(find_reduce_kernel(ElementType::f32, ReduceOp::sum), arguments, streams_[0],
           {.blocks = 4});
    streams_[0].synchronize();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
        EXPECT_EQ(read(streams_[rank], outputs[rank]), expected) << "rank " << rank;
    }
}

TEST_F(ReduceLaunch, SegmentsAreReducedAsIfTheyLayBehindEachOther) {
    // Segments of very different lengths, an empty one among them, over more blocks than fit into
    // some of them.
    const std::vector<std::uint64_t> lengths{1, 0, 4000, 3, 1500, 77};
    constexpr std::uint32_t sources = 3;
    const StreamRef stream = streams_[0];
    std::vector<std::uint64_t> ends(lengths.size());
    std::partial_sum(lengths.begin(), lengths.end(), ends.begin());
    std::vector<DeviceBuffer<std::int32_t>> inputs, outputs;
    std::vector<const void*> source_table;
    std::vector<void*> destination_table;
    for (std::size_t segment = 0; segment < lengths.size(); ++segment) {
        for (std::uint32_t source = 0; source < sources; ++source) {
            std::vector<std::int32_t> values(lengths[segment] + 1);
            std::iota(values.begin(), values.end(),
                      static_cast<std::int32_t>(1000 * segment + source));
            write(stream, inputs.emplace_back(devices_[0], values.size()), values);
            source_table.push_back(inputs.back().data());
        }
        write(stream, outputs.emplace_back(devices_[0], lengths[segment] + 1),
              std::vector<std::int32_t>(lengths[segment] + 1, -7));
        destination_table.push_back(outputs.back().data());
    }
    const DeviceBuffer<const void*> device_sources(devices_[0], source_table.size());
    const DeviceBuffer<void*> device_destinations(devices_[0], destination_table.size());
    const DeviceBuffer<std::uint64_t> device_ends(devices_[0], ends.size());
    write(stream, device_sources, source_table);
    write(stream, device_destinations, destination_table);
    write(stream, device_ends, ends);
    const ReduceArguments arguments{
        .segments = {.sources = device_sources.data(),
                     .destinations = device_destinations.data(),
                     .ends = device_ends.data(),
                     .count = static_cast<std::uint32_t>(lengths.size())},
        .count = ends.back(),
        .source_count = sources,
        .destination_count = 1};
    launch(find_reduce_kernel(ElementType::i32, ReduceOp::sum), arguments, stream, {.blocks = 5});
    stream.synchronize();
    for (std::size_t segment = 0; segment < lengths.size(); ++segment) {
        const auto seen = read(stream, outputs[segment]);
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
    ReduceArguments arguments{.count = 3, .source_count = 1, .destination_count = 1};
    arguments.sources[0] = input.data();
    arguments.destinations[0] = output.data();
    launch(find_reduce_kernel(ElementType::u8, ReduceOp::max), arguments, streams_[0],
           {.blocks = 32, .cooperative = true});
    EXPECT_THAT(read(streams_[0], output), ElementsAre(1, 2, 3));
}

TEST_F(ReduceLaunch, BadLaunchNamesTheKernel) {
    const auto kernel = find_reduce_kernel(ElementType::f32, ReduceOp::sum);
    try {
        launch(kernel, ReduceArguments{}, streams_[0], {.blocks = 0});
        FAIL() << "a launch of no blocks went through";
    } catch (const CudaError& error) {
        EXPECT_THAT(error.what(), HasSubstr(kernel.name));
    }
}

TEST(FindKernel, EveryPairHasAKernelAndMeanHasTheOneOfSum) {
    for (const ElementType type : all_element_types) {
        for (const ReduceOp op : all_reduce_ops) {
            EXPECT_NE(find_reduce_kernel(type, op).entry, nullptr);
        }
        EXPECT_EQ(find_reduce_kernel(type, ReduceOp::mean).entry,
                  find_reduce_kernel(type, ReduceOp::sum).entry);
        EXPECT_NE(find_reduce_kernel(type, ReduceOp::min).entry,
                  find_reduce_kernel(type, ReduceOp::max).entry);
    }
}

TEST(FindKernel, ANumberThatIsNoTypeOrOperatorThrows) {
    EXPECT_THROW(find_reduce_kernel(static_cast<ElementType>(12), ReduceOp::sum), InvalidArgument);
    EXPECT_THROW(find_reduce_kernel(ElementType::f32, static_cast<ReduceOp>(6)), InvalidArgument);
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
