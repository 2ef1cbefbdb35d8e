// Events: record, query, wait, timing, devices.
// Rules: CUDA Runtime API, "Event Management"; Programming Guide, "Events" and "Stream and Event
// Behavior".
#include <thread>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using EventTest = CudaTest;
using ConcurrentEventTest = ConcurrentTest;
using TwoDeviceEventTest = TwoDeviceTest;

// cudaEventCreateWithFlags: "cudaEventInterprocess must be specified along with
// cudaEventDisableTiming".
TEST_F(EventTest, unknown_or_contradicting_flags_are_invalid_value) {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, 0x100), cudaErrorInvalidValue);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
    EXPECT_EQ(cudaEventCreate(static_cast<cudaEvent_t*>(nullptr)), cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaEventRecord: "Before the first call to cudaEventRecord(), an event represents an empty set of
// work, so for example cudaEventQuery() would return cudaSuccess."
TEST_F(EventTest, an_event_that_was_never_recorded_is_complete) {
    const DeviceWords word;
    const Event event;
    const Stream stream;
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 1u);
}

// cudaEventQuery: "cudaSuccess if all captured work has been completed, or cudaErrorNotReady".
TEST_F(EventTest, query_follows_the_work_before_the_record) {
    const Stream stream;
    const Event event;
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_TRUE(gate.passed());
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
}

// cudaEventRecord: "Uses of stream after this call do not modify event."
TEST_F(EventTest, later_work_does_not_belong_to_the_event) {
    const PinnedWords word;
    const Stream stream;
    const Event event;
    EXPECT_EQ(launch(WriteValue{word.device_data(), 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(word.load(), 1u);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    gate.open();
}

TEST_F(EventTest, blocking_sync_events_wait_too) {
    const PinnedWords word;
    const Stream stream;
    const Event event(cudaEventBlockingSync | cudaEventDisableTiming);
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(launch(WriteValue{word.device_data(), 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    std::thread opener([&] { gate.open(); });
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(word.load(), 1u);
    opener.join();
}

// cudaStreamWaitEvent: "Makes all future work submitted to stream wait for all work captured in
// event."
TEST_F(EventTest, a_stream_waits_for_an_event_of_another_stream) {
    const DeviceWords word;
    const Stream producer;
    const Stream consumer;
    const Event event(cudaEventDisableTiming);
    Gate gate;
    gate.close(producer);
    EXPECT_EQ(launch(WriteValue{word.data(), 4}, producer), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, producer), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(consumer, event, 0), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 10, 2}, consumer), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(consumer), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(consumer), cudaSuccess);
    EXPECT_EQ(word.read(0), 42u);
}

// Work submitted before the wait does not wait.
TEST_F(ConcurrentEventTest, work_before_the_wait_is_not_held) {
    const DeviceWords word;
    const Stream producer;
    const Stream consumer;
    const Event event(cudaEventDisableTiming);
    const Event early(cudaEventDisableTiming);
    Gate gate;
    gate.close(producer);
    EXPECT_EQ(cudaEventRecord(event, producer), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{word.data(), 5}, consumer), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(early, consumer), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(consumer, event, 0), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(early), cudaSuccess);
    EXPECT_EQ(word.read(0), 5u);
    EXPECT_EQ(cudaStreamQuery(consumer), cudaErrorNotReady);
    gate.open();
}

// cudaEventRecord: waits "use the most recently captured state at the time of the API call, and are
// not affected by later calls to cudaEventRecord()".
TEST_F(ConcurrentEventTest, recording_again_does_not_move_waits_that_were_already_issued) {
    const DeviceWords word;
    const Stream first;
    const Stream second;
    const Stream waiter;
    const Event event(cudaEventDisableTiming);
    EXPECT_EQ(launch(WriteValue{word.data(), 6}, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(waiter, event, 0), cudaSuccess);
    Gate gate;
    gate.close(second);
    EXPECT_EQ(cudaEventRecord(event, second), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 2, 0}, waiter), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(waiter), cudaSuccess) << "it waits for the first record only";
    EXPECT_EQ(word.read(0), 12u);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady)
        << "the event itself holds the second record";
    gate.open();
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
}

// cudaEventRecord: "will overwrite the previously captured state".
TEST_F(ConcurrentEventTest, recording_again_forgets_the_first_record) {
    const Stream busy;
    const Stream idle;
    const Event event(cudaEventDisableTiming);
    Gate gate;
    gate.close(busy);
    EXPECT_EQ(cudaEventRecord(event, busy), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(cudaEventRecord(event, idle), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    gate.open();
}

// cudaEventDestroy: "An event may be destroyed before it is complete"; the call does not block, and
// streams that wait for it still do.
TEST_F(EventTest, an_event_may_be_destroyed_while_streams_wait_for_it) {
    if (!calls_wait_only_as_documented()) GTEST_SKIP() << "needs destruction that does not wait";
    const DeviceWords word;
    const Stream producer;
    const Stream consumer;
    cudaEvent_t event = nullptr;
    require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    Gate gate;
    gate.close(producer);
    EXPECT_EQ(launch(WriteValue{word.data(), 7}, producer), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, producer), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(consumer, event, 0), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 3, 0}, consumer), cudaSuccess);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(consumer), cudaSuccess);
    EXPECT_EQ(word.read(0), 21u);
}

TEST_F(EventTest, null_events_are_invalid_resource_handle) {
    const Stream stream;
    EXPECT_EQ(cudaEventRecord(nullptr, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamWaitEvent(stream, nullptr, 0), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

// cudaEventElapsedTime: "in milliseconds"; the second event is recorded after a kernel that ran for
// a known time.
TEST_F(EventTest, elapsed_time_covers_the_work_between_two_events) {
    const Stream stream;
    const Event start;
    const Event end;
    Gate gate;
    EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
    gate.close(stream);
    EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
    ASSERT_TRUE(gate.reached());
    const auto begin = std::chrono::steady_clock::now();
    std::chrono::duration<float, std::milli> held{};
    while (held < std::chrono::milliseconds(5)) {
        held = std::chrono::steady_clock::now() - begin;
    }
    gate.open();
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    float milliseconds = -1;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    EXPECT_GE(milliseconds, held.count() * 0.99f) << "two clocks may drift";
    EXPECT_LT(milliseconds, 60'000.f);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, start), cudaSuccess);
    EXPECT_EQ(milliseconds, 0.f);
}

// cudaEventElapsedTime: "If cudaEventRecord() has not been called on either event, then
// cudaErrorInvalidResourceHandle is returned."
TEST_F(EventTest, elapsed_time_of_events_that_were_not_recorded_is_invalid_resource_handle) {
    const Event recorded;
    const Event fresh;
    float milliseconds = 0;
    require(cudaEventRecord(recorded, nullptr));
    require(cudaEventSynchronize(recorded));
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, fresh, fresh), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, recorded, fresh), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, fresh, recorded), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

// "If either event was created with the cudaEventDisableTiming flag, then this function will return
// cudaErrorInvalidResourceHandle."
TEST_F(EventTest, elapsed_time_without_timing_is_invalid_resource_handle) {
    const Event timed;
    const Event untimed(cudaEventDisableTiming);
    float milliseconds = 0;
    require(cudaEventRecord(timed, nullptr));
    require(cudaEventRecord(untimed, nullptr));
    require(cudaEventSynchronize(untimed));
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, timed, untimed), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, untimed, timed), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

// "If ... one or both of them has not yet been completed ..., cudaErrorNotReady is returned."
TEST_F(EventTest, elapsed_time_of_pending_events_is_not_ready) {
    const Stream stream;
    const Event start;
    const Event end;
    Gate gate;
    require(cudaEventRecord(start, stream));
    gate.close(stream);
    require(cudaEventRecord(end, stream));
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(nullptr, start, end), cudaErrorInvalidValue);
    cudaGetLastError();
}

// "cudaEventRecord() will fail if the input event and input stream are associated to different
// devices."
TEST_F(TwoDeviceEventTest, recording_in_a_stream_of_another_device_is_invalid_resource_handle) {
    const Event event;
    require(cudaSetDevice(1));
    const Stream stream;
    EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle)
        << "the default stream of device 1";
    cudaGetLastError();
}

// "cudaEventElapsedTime() will fail if the two input events are associated to different devices."
TEST_F(TwoDeviceEventTest, elapsed_time_between_devices_is_invalid_resource_handle) {
    const Event first;
    require(cudaEventRecord(first, nullptr));
    require(cudaEventSynchronize(first));
    require(cudaSetDevice(1));
    const Event second;
    require(cudaEventRecord(second, nullptr));
    require(cudaEventSynchronize(second));
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, second), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

// "cudaEventSynchronize() and cudaEventQuery() will succeed even if the input event is associated
// to a device that is different from the current device."
TEST_F(TwoDeviceEventTest, events_are_waited_for_and_queried_from_any_current_device) {
    const PinnedWords word;
    const Stream stream;
    const Event event;
    EXPECT_EQ(launch(WriteValue{word.device_data(), 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(word.load(), 1u);
}

// "cudaStreamWaitEvent() will succeed even if the input stream and input event are associated to
// different devices. cudaStreamWaitEvent() can therefore be used to synchronize multiple devices
// with each other."
TEST_F(TwoDeviceEventTest, a_stream_of_one_device_waits_for_an_event_of_another) {
    const PinnedWords words(2);
    const Stream stream_of_first;
    const Event event(cudaEventDisableTiming);
    Gate gate;
    gate.close(stream_of_first);
    EXPECT_EQ(launch(WriteValue{words.device_data(), 30}, stream_of_first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream_of_first), cudaSuccess);
    require(cudaSetDevice(1));
    const Stream stream_of_second;
    EXPECT_EQ(cudaStreamWaitEvent(stream_of_second, event, 0), cudaSuccess);
    EXPECT_EQ(
        launch(CopyWords{words.device_data() + 1, words.device_data(), 1, 3}, stream_of_second),
        cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream_of_second), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream_of_second), cudaSuccess);
    EXPECT_EQ(words.load(1), 33u);
}

}  // namespace

}  // namespace test
