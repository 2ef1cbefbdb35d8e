// What vgpu reports about wrong kernels and dead blocks: an access out of bounds, a peer that was
// not enabled, a block that never signals. Each test seeds the mistake and expects the report.
#include <gmock/gmock.h>

#include "kernels/host/host_block.hpp"
#include "kernels/step_program.hpp"
#include "tests/kernels/launch_fixture.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;
using testing::AllOf;
using testing::HasSubstr;

class VgpuChecks : public testing::Test {
protected:
    void SetUp() override {
        vgpu::Options options = vgpu::Options::from_environment();
        options.topology = "4";
        options.check = true;
        vgpu::reset(options);
    }
    void TearDown() override {
        vgpu::clear_faults();
        vgpu::reset(vgpu::Options::from_environment());
    }

    /// Memory that the next reset() frees: a device that has failed takes no cudaFree.
    static float* allocate(DeviceId device, std::size_t count) {
        return static_cast<float*>(memory::allocate_device(device, count * sizeof(float)));
    }

    /// Runs a step with one source and returns the error that the stream ends with.
    static cudaError_t sum(DeviceId device, const void* source, void* destination,
                           std::uint64_t count) {
        const Stream stream(device);
        StepProgram program(device);
        program.prepare(ElementType::f32, ReduceOp::sum, {{source, destination}},
                        {.source_count = 1, .destination_count = 1, .count = count}, {});
        program.launch(stream);
        return cudaStreamSynchronize(stream.get());
    }
};

TEST_F(VgpuChecks, AStoreOutOfBoundsIsReported) {
    const DeviceId device(0);
    float* const input = allocate(device, 101);
    float* const output = allocate(device, 100);
    EXPECT_EQ(sum(device, input, output, 100), cudaSuccess);
    EXPECT_EQ(vgpu::take_report(), "");
    EXPECT_EQ(sum(device, input, output, 101), cudaErrorIllegalAddress);
    EXPECT_THAT(vgpu::take_report(), AllOf(HasSubstr("program_kernel"), HasSubstr("write")));
}

TEST_F(VgpuChecks, ALoadOutOfBoundsIsReported) {
    const DeviceId device(0);
    float* const input = allocate(device, 100);
    float* const output = allocate(device, 101);
    EXPECT_EQ(sum(device, input, output, 101), cudaErrorIllegalAddress);
    EXPECT_THAT(vgpu::take_report(), AllOf(HasSubstr("program_kernel"), HasSubstr("read")));
}

TEST_F(VgpuChecks, APeerThatWasNotEnabledIsReported) {
    const DeviceId device(0), peer(1);
    float* const input = allocate(peer, 100);
    float* const output = allocate(device, 100);
    EXPECT_EQ(sum(device, input, output, 100), cudaErrorIllegalAddress);
    EXPECT_THAT(vgpu::take_report(), AllOf(HasSubstr("program_kernel"), HasSubstr("peer")));
}

TEST_F(VgpuChecks, AnEnabledPeerIsNot) {
    const DeviceId device(0), peer(1);
    enable_peer_access(std::vector<DeviceId>{device, peer});
    float* const input = allocate(peer, 100);
    float* const output = allocate(device, 100);
    EXPECT_EQ(sum(device, input, output, 100), cudaSuccess);
    EXPECT_EQ(vgpu::take_report(), "");
}

TEST_F(VgpuChecks, ABlockThatWasKilledLeavesItsPeersWithAnErrorNotAHang) {
    const std::vector<DeviceId> devices{DeviceId(0), DeviceId(1), DeviceId(2)};
    enable_peer_access(devices);
    std::vector<StepProgram> programs;
    std::vector<Stream> streams;
    for (const DeviceId device : devices) {
        streams.emplace_back(device);
        programs.emplace_back(device);
    }
    StepProgram::connect(programs, 0);
    vgpu::kill_block({.kernel = "program_kernel", .device = 1}, 0);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        programs[rank].enter(rank, 3, streams[rank], 100'000'000);
    }
    for (const std::uint32_t rank : {0u, 2u}) {
        streams[rank].synchronize();
        EXPECT_THAT(programs[rank].failure(),
                    AllOf(HasSubstr("device " + std::to_string(rank)), HasSubstr("block 0"),
                          HasSubstr("ms for flag")));
    }
}

TEST(HostBlockStores, OnlyLargeResultsThatLieAlikeAndReplaceNoSourceGoPastTheCache) {
    alignas(64) static std::byte memory[256];
    const void* const sources[] = {memory, memory + 64};
    void* destinations[] = {memory + 128, memory + 192};
    ReduceStep step{.sources = sources,
                    .destinations = destinations,
                    .source_count = 2,
                    .destination_count = 2};
    step.count = HostBlock::streaming_threshold / 4 - 1;
    EXPECT_EQ(HostBlock::choose_stores(step, 4), Stores::cached);
    step.count = HostBlock::streaming_threshold / 4;
    EXPECT_EQ(HostBlock::choose_stores(step, 4), Stores::streaming);
    step.count = 1000;
    step.result_bytes = HostBlock::large_results - 1;
    EXPECT_EQ(HostBlock::choose_stores(step, 4), Stores::cached);
    step.result_bytes = HostBlock::large_results;
    EXPECT_EQ(HostBlock::choose_stores(step, 4), Stores::streaming) << "a piece of a large call";
    destinations[1] = memory + 196;
    EXPECT_EQ(HostBlock::choose_stores(step, 4), Stores::cached);
    destinations[1] = memory + 64;
    EXPECT_EQ(HostBlock::choose_stores(step, 4), Stores::cached);
}

}  // namespace
}  // namespace rondo::test
