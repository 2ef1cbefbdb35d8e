// Every CUDA call of the wrappers fails once: an exception comes out, nothing leaks, nothing hangs.
#include <optional>
#include <string>
#include <vector>

#include "cuda/buffer.hpp"
#include "cuda/check.hpp"
#include "cuda/copy.hpp"
#include "cuda/event.hpp"
#include "cuda/graph.hpp"
#include "cuda/peer.hpp"
#include "tests/vgpu/cuda_fixture.hpp"
#include "vgpu/control.hpp"

namespace rondo {

namespace {

class FaultTest : public test::CudaTest {
protected:
    void TearDown() override {
        vgpu::clear_faults();
        vgpu::reset();
        cudaGetLastError();
    }
};

/// Something of everything.
void use_everything() {
    const DeviceId first(0);
    const DeviceId second(1);
    enable_peer_access(std::vector{first, second});
    const Stream stream(first);
    const Event event(first, {.timing = true});
    const DeviceBuffer<int> buffer(first, 100);
    const DeviceBuffer<int> remote(second, 100);
    const PinnedBuffer<int> pinned(first, 100);
    check_stream(stream);
    copy(stream, buffer.span(), pinned.span());
    copy(stream, remote.span(), buffer);
    {
        const AsyncBuffer<int> scratch(stream, 100);
        fill_bytes(stream, scratch.span(), std::byte{1});
    }
    event.record(stream);
    stream.wait(event);
    event.synchronize();
    StreamCapture capture(stream);
    copy(stream, buffer.span(), pinned.device_span());
    const GraphExec exec(capture.end());
    exec.launch(stream);
    stream.synchronize();
    elapsed_milliseconds(event, event);
    device_memory(second);
}

TEST_F(FaultTest, the_program_works_without_faults) {
    EXPECT_NO_THROW(use_everything());
    const vgpu::Counters counters = vgpu::counters();
    EXPECT_EQ(counters.live_allocations, 0u);
    EXPECT_EQ(counters.live_streams, 0u);
    EXPECT_EQ(counters.live_events, 0u);
    EXPECT_EQ(counters.live_graphs, 0u);
}

// A destructor whose call fails can only log; what it should have freed is counted as live, and
// nothing else is.
TEST_F(FaultTest, any_call_may_fail) {
    std::uint64_t kth = 1;
    for (bool reached = true; reached; ++kth) {
        ASSERT_LT(kth, 500u) << "the program never got through";
        vgpu::reset();
        vgpu::fail_any_call(kth, cudaErrorUnknown);
        bool thrown = false;
        testing::internal::CaptureStderr();
        try {
            use_everything();
        } catch (const CudaError& error) {
            thrown = true;
            EXPECT_EQ(error.code(), cudaErrorUnknown) << error.what();
        }
        const std::string log = testing::internal::GetCapturedStderr();
        vgpu::fail_any_call(0, cudaSuccess);
        reached = thrown || !log.empty();
        const vgpu::Counters counters = vgpu::counters();
        const auto live = counters.live_allocations + counters.live_streams + counters.live_events +
                          counters.live_graphs;
        EXPECT_LE(live, log.empty() ? 0u : 1u) << "call " << kth << ": " << log;
        EXPECT_FALSE(thrown && !log.empty()) << "one failure is reported once: " << log;
        EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "call " << kth;
        if (log.find("cudaSetDevice") ==
            std::string::npos) {  // else putting it back was what failed
            int device = -1;
            EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
            EXPECT_EQ(device, 0) << "call " << kth << " left another device current";
        }
    }
    EXPECT_GT(kth, 40u) << "calls were made to fail";
}

TEST_F(FaultTest, objects_of_a_lost_device_go_with_a_log_line_and_no_exception) {
    testing::internal::CaptureStderr();
    {
        const DeviceBuffer<int> buffer(DeviceId(1), 10);
        const Stream stream(DeviceId(1));
        vgpu::lose_device(1);
        EXPECT_THROW(stream.synchronize(), CudaError);
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr("cudaErrorDevicesUnavailable"));
    EXPECT_NO_THROW(synchronize_device(DeviceId(0)));
}

TEST_F(FaultTest, a_range_that_can_not_be_asked_for_is_unknown_and_no_error) {
    const DeviceBuffer<int> buffer(DeviceId(0), 10);
    EXPECT_TRUE(memory::allocation_range(buffer.data()).has_value());
    vgpu::fail_call("cuPointerGetAttributes", 1, cudaErrorUnknown);
    EXPECT_EQ(memory::allocation_range(buffer.data()), std::nullopt);
    EXPECT_TRUE(memory::allocation_range(buffer.data()).has_value());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(FaultTest, machines_without_peers_are_told_apart) {
    vgpu::reset({.topology = "dgx1_v100", .check = true});
    const PeerAccess access = enable_peer_access(all_devices());
    EXPECT_FALSE(access.complete());
    EXPECT_EQ(access.enabled.size(), 8u * 4);
    EXPECT_EQ(access.unreachable.size(), 8u * 3);
    EXPECT_THAT(access.unreachable, testing::Contains(PeerPair{DeviceId(0), DeviceId(5)}));
    EXPECT_THAT(access.enabled, testing::Contains(PeerPair{DeviceId(0), DeviceId(4)}));
}

// CUDA leaves this undefined; vgpu knows every handle.
TEST_F(FaultTest, a_destroyed_stream_is_refused_before_anything_is_put_on_it) {
    cudaStream_t destroyed = nullptr;
    test::require(cudaStreamCreate(&destroyed));
    test::require(cudaStreamDestroy(destroyed));
    int not_a_stream = 0;
    for (const cudaStream_t handle : {destroyed, reinterpret_cast<cudaStream_t>(&not_a_stream)}) {
        try {
            check_stream(StreamRef(DeviceId(0), handle));
            FAIL() << "must throw";
        } catch (const InvalidArgument& error) {
            EXPECT_STREQ(error.what(), "the handle is not a stream, or the stream was destroyed");
        }
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
}

}  // namespace

}  // namespace rondo
