// The self-test: what works passes, what is broken is named and does not hurt the rest.
#include <gmock/gmock.h>

#include "tests/topology/detect/fake_machine.hpp"
#include "topology/detect/self_test.hpp"

namespace {

/// The copy between devices that disappears: 1 is the next one, 0 none.
int lost_copy = 0;

}  // namespace

// The linker sends calls of cudaMemcpyPeerAsync here; __real is vgpu's.
extern "C" {
cudaError_t __real_cudaMemcpyPeerAsync(void* target, int target_device, const void* source,
                                       int source_device, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyPeerAsync(void* target, int target_device, const void* source,
                                       int source_device, size_t bytes, cudaStream_t stream) {
    if (lost_copy > 0 && --lost_copy == 0) return cudaSuccess;
    return __real_cudaMemcpyPeerAsync(target, target_device, source, source_device, bytes, stream);
}
}

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SelfTest : public DetectTest {
protected:
    static std::vector<std::pair<int, int>> all_pairs(int gpus) {
        std::vector<std::pair<int, int>> pairs;
        for (int from = 0; from < gpus; ++from) {
            for (int to = 0; to < gpus; ++to) {
                if (from != to) pairs.emplace_back(from, to);
            }
        }
        return pairs;
    }
};

TEST_F(SelfTest, HealthyMachinesPassAndGetTheirMemoryBack) {
    use_vgpu("4");
    EXPECT_THAT(test_pairs(all_pairs(4), {}), IsEmpty());
    EXPECT_EQ(vgpu::counters().live_allocations, 0u);
    EXPECT_EQ(vgpu::counters().live_streams, 0u);
}

TEST_F(SelfTest, CopiesHappenForEveryPair) {
    use_vgpu("3");
    const auto before = vgpu::counters().copies;
    test_pairs(all_pairs(3), {.bytes = 4096});
    EXPECT_GE(vgpu::counters().copies - before, 3u + 2 * 6u);
}

TEST_F(SelfTest, ACutLinkIsFoundAndTheRestIsStillTested) {
    use_vgpu("4");
    vgpu::cut_link(1, 2);
    const auto broken = test_pairs(all_pairs(4), {.may_reset_devices = true});
    ASSERT_THAT(broken, SizeIs(2));
    EXPECT_EQ(broken[0].from, 1);
    EXPECT_EQ(broken[0].to, 2);
    EXPECT_EQ(broken[1].from, 2);
    EXPECT_EQ(broken[1].to, 1);
    EXPECT_THAT(broken[0].reason, HasSubstr("cuda"));
}

TEST_F(SelfTest, WithoutPermissionToResetAFailedDeviceIsLeftAlone) {
    use_vgpu("4");
    vgpu::cut_link(1, 2);
    const auto broken = test_pairs(all_pairs(4), {});
    EXPECT_GT(broken.size(), 2u);
    for (const BrokenPair& pair : broken) {
        EXPECT_TRUE(pair.from == 1 || pair.to == 1 || pair.from == 2 || pair.to == 2)
            << pair.from << " to " << pair.to << ": " << pair.reason;
    }
    EXPECT_THAT(broken.back().reason, HasSubstr("failed before"));
}

TEST_F(SelfTest, DetectionLeavesOutWhatIsBroken) {
    use_vgpu("dgx1_p100");
    vgpu::fail_call("cudaMemcpyPeerAsync", 1, cudaErrorUnknown);
    const Detection detection = detect(options());
    ASSERT_THAT(detection.broken_pairs, SizeIs(1));
    EXPECT_EQ(detection.broken_pairs[0].from, 0);
    EXPECT_EQ(detection.broken_pairs[0].to, 1);
    EXPECT_THAT(
        detection.warnings,
        Contains(AllOf(HasSubstr("copying from GPU 0 to GPU 1 fails, so their link is left"),
                       HasSubstr("cudaErrorUnknown"))));
    EXPECT_EQ(link_between(detection.topology, "gpu0", "gpu1").count, 0);
    EXPECT_FALSE(detection.topology.peer_access(0, 1));
    EXPECT_TRUE(detection.topology.peer_access(0, 2));
    EXPECT_EQ(source_of(detection, "gpu0 - gpu1", "works"), FactSource::self_test);
}

/// What broken PCI bridges do: the copy succeeds, and nothing has arrived.
TEST_F(SelfTest, WrongDataIsFound) {
    use_vgpu("3");
    lost_copy = 2;
    const auto broken = test_pairs(all_pairs(3), {});
    ASSERT_THAT(broken, SizeIs(1));
    EXPECT_EQ(broken[0].from, 0);
    EXPECT_EQ(broken[0].to, 2);
    EXPECT_THAT(broken[0].reason, HasSubstr("the data is wrong: byte 0 begins 0x00000000"));
}

TEST_F(SelfTest, ACopyThatDoesNotEndCostsItsDeadlineOnly) {
    use_vgpu("2");
    vgpu::slow_link(0, 1, 500);
    const auto broken = test_pairs({{0, 1}, {1, 0}}, {.bytes = std::size_t{16} << 20,
                                                      .deadline = std::chrono::milliseconds(100),
                                                      .may_reset_devices = true});
    ASSERT_THAT(broken, SizeIs(2));
    EXPECT_THAT(broken[0].reason, HasSubstr("did not end within 100 ms"));
    EXPECT_THAT(broken[1].reason, HasSubstr("not tested: device 1 failed before"));
    vgpu::clear_faults();
}

TEST_F(SelfTest, ALostDeviceDoesNotStopTheTest) {
    use_vgpu("3");
    vgpu::lose_device(2);
    const auto broken = test_pairs(all_pairs(3), {});
    EXPECT_THAT(broken, SizeIs(4));
    for (const BrokenPair& pair : broken) EXPECT_TRUE(pair.from == 2 || pair.to == 2);
}

}  // namespace
}  // namespace rondo::testing
