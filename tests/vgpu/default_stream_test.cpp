// The default streams and what they wait for.
// Rules: CUDA Runtime API, "Stream synchronization behavior" (legacy default stream, per-thread
// default stream).
#include <thread>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using DefaultStreamTest = CudaTest;
using ConcurrentDefaultStreamTest = ConcurrentTest;

/// Whether work in `second` that is enqueued after a gate in `first` waits for that gate: shown by
/// a kernel that reads what a kernel behind the gate writes.
bool waits_for(cudaStream_t second, cudaStream_t first) {
    const PinnedWords words(2);
    Gate gate;
    gate.close(first);
    EXPECT_TRUE(gate.reached());
    EXPECT_EQ(launch(WriteValue{words.device_data(), 1}, first), cudaSuccess);
    EXPECT_EQ(launch(CopyWords{words.device_data() + 1, words.device_data(), 1, 100}, second),
              cudaSuccess);
    const bool waited = cudaStreamQuery(second) == cudaErrorNotReady;
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(first), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_TRUE(gate.passed());
    return waited && words.load(1) == 101;
}

// "The legacy default stream is an implicit stream which synchronizes with all other streams in the
// same CUcontext except for non-blocking streams": it waits for them,
TEST_F(DefaultStreamTest, the_legacy_stream_waits_for_blocking_streams) {
    const Stream blocking(cudaStreamDefault);
    EXPECT_TRUE(waits_for(cudaStreamLegacy, blocking));
    EXPECT_TRUE(waits_for(nullptr, blocking)) << "stream 0 is the legacy stream in this program";
}

// and they wait for it.
TEST_F(DefaultStreamTest, blocking_streams_wait_for_the_legacy_stream) {
    const Stream blocking(cudaStreamDefault);
    EXPECT_TRUE(waits_for(blocking, cudaStreamLegacy));
    EXPECT_TRUE(waits_for(blocking, nullptr));
}

// "a kernel launched on the legacy default stream ... k_2 will block on k_1 and k_3 will block on
// k_2".
TEST_F(DefaultStreamTest, a_legacy_kernel_orders_two_blocking_streams) {
    const DeviceWords word;
    const Stream first(cudaStreamDefault);
    const Stream second(cudaStreamDefault);
    for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(launch(WriteValue{word.data(), 1}, first), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 2, 3}, cudaStreamLegacy), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 7, 11}, second), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 1, 1000}, cudaStreamLegacy), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
        EXPECT_EQ(word.read(0), (1 * 2 + 3) * 7 + 11 + 1000u);
    }
}

// "Non-blocking streams ... do not synchronize with the legacy stream", in either direction.
TEST_F(ConcurrentDefaultStreamTest, non_blocking_streams_and_the_legacy_stream_ignore_each_other) {
    const DeviceWords words(2);
    const Stream free_running(cudaStreamNonBlocking);
    {
        Gate gate;
        gate.close(cudaStreamLegacy);
        EXPECT_TRUE(gate.reached());
        EXPECT_EQ(launch(WriteValue{words.data(), 1}, free_running), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(free_running), cudaSuccess);
        EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
    }
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    {
        Gate gate;
        gate.close(free_running);
        EXPECT_TRUE(gate.reached());
        EXPECT_EQ(launch(WriteValue{words.data() + 1, 2}, cudaStreamLegacy), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
        EXPECT_EQ(cudaStreamQuery(free_running), cudaErrorNotReady);
    }
    EXPECT_THAT(words.read(), testing::ElementsAre(1, 2));
}

// Two blocking streams do not wait for each other unless the legacy stream comes between them.
TEST_F(ConcurrentDefaultStreamTest, blocking_streams_run_beside_each_other) {
    const DeviceWords word;
    const Stream first(cudaStreamDefault);
    const Stream second(cudaStreamDefault);
    Gate gate;
    gate.close(first);
    EXPECT_TRUE(gate.reached());
    EXPECT_EQ(launch(WriteValue{word.data(), 4}, second), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(first), cudaErrorNotReady);
    gate.open();
}

// "The per-thread default stream is not a non-blocking stream and will synchronize with the legacy
// default stream".
TEST_F(DefaultStreamTest, the_per_thread_stream_synchronises_with_the_legacy_stream) {
    EXPECT_TRUE(waits_for(cudaStreamPerThread, cudaStreamLegacy));
    EXPECT_TRUE(waits_for(cudaStreamLegacy, cudaStreamPerThread));
}

// "The per-thread default stream is an implicit stream local to both the thread and the CUcontext,
// and which does not synchronize with other streams".
TEST_F(ConcurrentDefaultStreamTest, per_thread_streams_of_two_threads_are_two_streams) {
    const DeviceWords word;
    Gate gate;
    gate.close(cudaStreamPerThread);
    EXPECT_TRUE(gate.reached());
    std::thread([&] {
        EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
        EXPECT_EQ(launch(WriteValue{word.data(), 8}, cudaStreamPerThread), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    }).join();
    EXPECT_EQ(word.read(0), 8u);
    EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
}

TEST_F(DefaultStreamTest, work_in_the_per_thread_stream_is_ordered) {
    const DeviceWords word;
    EXPECT_EQ(launch(WriteValue{word.data(), 3}, cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 5, 1}, cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(word.read(0), 16u);
}

// The legacy stream synchronises within one context, that is, one device.
TEST_F(TwoDeviceTest, the_legacy_streams_of_two_devices_are_independent) {
    Gate gate;
    gate.close(cudaStreamLegacy);
    EXPECT_TRUE(gate.reached());
    {
        const CurrentDevice current(1);
        EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
    gate.open();
}

// An event recorded in the legacy stream holds the work of the blocking streams before it.
TEST_F(DefaultStreamTest, an_event_in_the_legacy_stream_waits_for_blocking_streams) {
    const PinnedWords word;
    const Stream blocking(cudaStreamDefault);
    const Event event;
    Gate gate;
    gate.close(blocking);
    EXPECT_EQ(launch(WriteValue{word.device_data(), 1}, blocking), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(word.load(), 1u);
}

}  // namespace

}  // namespace test
