// Stream capture: what is captured, what is forbidden meanwhile, and how a capture breaks.
// Rules: CUDA Runtime API, "Stream Management" and cudaThreadExchangeStreamCaptureMode; Programming
// Guide, "Creating a Graph Using Stream Capture" and "Prohibited and Unhandled Operations".
#include <thread>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

/// Ends what a failing test left open.
class CaptureTest : public CudaTest {
protected:
    void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
        require(cudaStreamBeginCapture(stream, mode));
    }
    /// Ends the capture; the graph is destroyed at the end of the test.
    cudaError_t end(cudaStream_t stream) {
        const cudaError_t status = cudaStreamEndCapture(stream, &graph_);
        if (graph_ != nullptr) {
            graphs_.push_back(graph_);
        }
        return status;
    }
    void TearDown() override {
        for (const cudaGraph_t graph : graphs_) {
            EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
        }
        CudaTest::TearDown();
    }

    cudaGraph_t graph_ = nullptr;

private:
    std::vector<cudaGraph_t> graphs_;
};

class TwoDeviceCaptureTest : public CaptureTest {
protected:
    void SetUp() override {
        CaptureTest::SetUp();
        if (!IsSkipped() && device_count_ < 2) {
            GTEST_SKIP() << "needs two devices";
        }
    }
};

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
    return status;
}

std::size_t node_count(cudaGraph_t graph) {
    std::size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    return count;
}

unsigned long long capture_id(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
#if CUDART_VERSION >= 13000
    EXPECT_EQ(cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr),
              cudaSuccess);
#else
    EXPECT_EQ(cudaStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr),
              cudaSuccess);
#endif
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    return id;
}

// cudaStreamBeginCapture: "all operations pushed into the stream will not be executed, but will
// instead be captured into a graph".
TEST_F(CaptureTest, captured_work_does_not_run) {
    const DeviceWords word;
    const Stream stream;
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaSuccess);
    EXPECT_EQ(end(stream), cudaSuccess);
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
    ASSERT_NE(graph_, nullptr);
    EXPECT_EQ(node_count(graph_), 1u);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 0u);
}

// cudaStreamGetCaptureInfo: an id "unique over the lifetime of the process".
TEST_F(CaptureTest, every_capture_has_its_own_id) {
    const Stream stream;
    begin(stream);
    const unsigned long long first = capture_id(stream);
    EXPECT_EQ(capture_id(stream), first);
    EXPECT_EQ(end(stream), cudaSuccess);
    begin(stream);
    EXPECT_NE(capture_id(stream), first);
    EXPECT_EQ(end(stream), cudaSuccess);
}

// "Capture may not be initiated if stream is cudaStreamLegacy."
TEST_F(CaptureTest, the_legacy_stream_can_not_be_captured) {
    EXPECT_EQ(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal),
              cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
              cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
}

TEST_F(CaptureTest, the_per_thread_stream_can_be_captured) {
    const DeviceWords word;
    begin(cudaStreamPerThread);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(end(cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(node_count(graph_), 1u);
}

// "it may only be initiated if the stream is not already in capture mode"; cudaErrorIllegalState.
TEST_F(CaptureTest, beginning_twice_and_ending_what_never_began_is_illegal_state) {
    const Stream stream;
    EXPECT_EQ(end(stream), cudaErrorIllegalState);
    begin(stream);
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
              cudaErrorIllegalState);
    cudaStreamEndCapture(stream, &graph_);
    if (graph_ != nullptr) {
        EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    }
    cudaGetLastError();
}

// "It is invalid to synchronize or query the execution status of a stream which is being captured":
// the call is cudaErrorStreamCaptureUnsupported, the capture is invalidated, and
// cudaStreamEndCapture returns a null graph.
TEST_F(CaptureTest, synchronising_a_capturing_stream_invalidates_the_capture) {
    const DeviceWords word;
    const Stream stream;
    begin(stream);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph_, nullptr);
    cudaGetLastError();
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone) << "the stream can be used again";
    EXPECT_EQ(launch(WriteValue{word.data(), 2}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 2u);
}

TEST_F(CaptureTest, querying_a_capturing_stream_invalidates_the_capture) {
    const Stream stream;
    begin(stream);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph_, nullptr);
    cudaGetLastError();
}

// "It is also invalid to query the execution status of or synchronize a broader handle which
// encompasses an active stream capture, such as a device".
TEST_F(CaptureTest, synchronising_the_device_during_a_capture_is_unsupported) {
    const Stream stream;
    begin(stream);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}

// cudaErrorCapturedEvent: "not permitted on an event which was last recorded in a capturing
// stream".
TEST_F(CaptureTest, captured_events_can_not_be_queried_or_waited_for_on_the_host) {
    const Stream stream;
    const Event event(cudaEventDisableTiming);
    begin(stream);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
    EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    cudaStreamEndCapture(stream, &graph_);
    if (graph_ != nullptr) {
        cudaGraphDestroy(graph_);
    }
    cudaGetLastError();
}

// "When any stream in the same context is being captured, and it was not created with
// cudaStreamNonBlocking, any attempted use of the legacy stream is invalid":
// cudaErrorStreamCaptureImplicit.
TEST_F(CaptureTest, the_legacy_stream_can_not_be_used_while_a_blocking_stream_captures) {
    const DeviceWords word;
    const Stream stream(cudaStreamDefault);
    begin(stream, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, cudaStreamLegacy), cudaErrorStreamCaptureImplicit);
    cudaStreamEndCapture(stream, &graph_);
    if (graph_ != nullptr) {
        cudaGraphDestroy(graph_);
    }
    cudaGetLastError();
    begin(stream, cudaStreamCaptureModeRelaxed);
    std::uint32_t value = 0;
    EXPECT_EQ(cudaMemcpy(word.data(), &value, 4, cudaMemcpyHostToDevice),
              cudaErrorStreamCaptureImplicit)
        << "synchronous copies use the legacy stream";
    cudaStreamEndCapture(stream, &graph_);
    if (graph_ != nullptr) {
        cudaGraphDestroy(graph_);
    }
    cudaGetLastError();
}

// cudaStreamIsCapturing: on cudaStreamLegacy "while a blocking stream on the same device is
// capturing, it will return cudaErrorStreamCaptureImplicit ... The blocking stream capture is not
// invalidated."
TEST_F(CaptureTest, asking_for_the_status_of_the_legacy_stream_does_no_harm) {
    const Stream stream(cudaStreamDefault);
    begin(stream);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(cudaStreamLegacy, &status), cudaErrorStreamCaptureImplicit);
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
    EXPECT_EQ(end(stream), cudaSuccess);
    EXPECT_NE(graph_, nullptr);
    cudaGetLastError();
}

TEST_F(CaptureTest, the_legacy_stream_works_while_a_non_blocking_stream_captures) {
    const DeviceWords word;
    const Stream stream(cudaStreamNonBlocking);
    begin(stream);
    EXPECT_EQ(launch(WriteValue{word.data(), 5}, cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(end(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(word.read(0), 5u);
    EXPECT_EQ(node_count(graph_), 0u);
}

// Streams that take no part in the capture go on as usual.
TEST_F(CaptureTest, other_streams_run_during_a_capture) {
    const DeviceWords word;
    const Stream capturing;
    const Stream other;
    begin(capturing);
    EXPECT_EQ(launch(WriteValue{word.data(), 6}, other), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(end(capturing), cudaSuccess);
    EXPECT_EQ(word.read(0), 6u);
}

// cudaThreadExchangeStreamCaptureMode: cudaMalloc is "potentially unsafe"; prohibited during a
// capture of the own thread that is not relaxed.
TEST_F(CaptureTest, malloc_is_unsupported_during_a_capture_and_invalidates_it) {
    for (const cudaStreamCaptureMode mode :
         {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
        const Stream stream;
        begin(stream, mode);
        void* pointer = nullptr;
        EXPECT_EQ(cudaMalloc(&pointer, 64), cudaErrorStreamCaptureUnsupported);
        EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(graph_, nullptr);
        cudaGetLastError();
    }
}

// cudaStreamCaptureModeRelaxed: "The local thread is not prohibited from potentially unsafe API
// calls."
TEST_F(CaptureTest, malloc_is_allowed_during_a_relaxed_capture) {
    const Stream stream;
    begin(stream, cudaStreamCaptureModeRelaxed);
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 64), cudaSuccess);
    EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
    EXPECT_EQ(end(stream), cudaSuccess);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

// cudaThreadExchangeStreamCaptureMode: swaps; a relaxed thread may call what is unsafe.
TEST_F(CaptureTest, a_thread_can_relax_its_own_mode) {
    const Stream stream;
    begin(stream, cudaStreamCaptureModeGlobal);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal) << "the default mode of a thread";
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 64), cudaSuccess);
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(end(stream), cudaSuccess);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

// cudaStreamCaptureModeGlobal: a concurrent global capture prohibits unsafe calls in other threads;
// cudaStreamCaptureModeThreadLocal: "Concurrent capture sequences in other threads are ignored."
TEST_F(CaptureTest, a_global_capture_forbids_malloc_in_other_threads_and_a_local_one_does_not) {
    const Stream stream;
    const auto malloc_elsewhere = [] {
        cudaError_t status = cudaSuccess;
        std::thread([&] {
            void* pointer = nullptr;
            status = cudaMalloc(&pointer, 64);
            cudaFree(pointer);
        }).join();
        return status;
    };
    begin(stream, cudaStreamCaptureModeThreadLocal);
    EXPECT_EQ(malloc_elsewhere(), cudaSuccess);
    EXPECT_EQ(end(stream), cudaSuccess);
    begin(stream, cudaStreamCaptureModeGlobal);
    EXPECT_EQ(malloc_elsewhere(), cudaErrorStreamCaptureUnsupported);
    graph_ = nullptr;
    end(stream);
    cudaGetLastError();
}

// "cudaStreamCaptureModeGlobal ... If the local thread has an ongoing capture sequence that was not
// initiated with cudaStreamCaptureModeRelaxed at cuStreamBeginCapture, or if any other thread has a
// concurrent capture sequence initiated with cudaStreamCaptureModeGlobal, this thread is prohibited
// from potentially unsafe API calls."
TEST_F(CaptureTest,
       a_global_capture_forbids_event_queries_in_other_threads_unless_they_are_relaxed) {
    const Stream captured;
    const Stream stream;
    const Event event(cudaEventDisableTiming);
    require(cudaEventRecord(event, stream));
    require(cudaStreamSynchronize(stream));
    const auto elsewhere = [&](cudaStreamCaptureMode mode, bool query) {
        cudaError_t status = cudaErrorUnknown;
        std::thread([&] {
            require(cudaThreadExchangeStreamCaptureMode(&mode));
            status = query ? cudaEventQuery(event) : cudaEventSynchronize(event);
            cudaGetLastError();
        }).join();
        return status;
    };
    for (const bool query : {true, false}) {
        cudaGraph_t graph = nullptr;
        require(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
        EXPECT_EQ(elsewhere(cudaStreamCaptureModeRelaxed, query), cudaSuccess);
        EXPECT_EQ(elsewhere(cudaStreamCaptureModeThreadLocal, query), cudaSuccess);
        EXPECT_EQ(cudaStreamEndCapture(captured, &graph), cudaSuccess);
        require(cudaGraphDestroy(graph));
        require(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
        EXPECT_EQ(elsewhere(cudaStreamCaptureModeGlobal, query), cudaErrorStreamCaptureUnsupported);
        EXPECT_EQ(cudaStreamEndCapture(captured, &graph), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    }
}

// cudaErrorStreamCaptureWrongThread: a capture that is not relaxed must end in the thread where it
// began.
TEST_F(CaptureTest, another_thread_can_end_only_a_relaxed_capture) {
    const Stream stream;
    const auto end_elsewhere = [&] {
        cudaError_t status = cudaSuccess;
        std::thread([&] { status = end(stream); }).join();
        return status;
    };
    begin(stream, cudaStreamCaptureModeThreadLocal);
    EXPECT_EQ(end_elsewhere(), cudaErrorStreamCaptureWrongThread);
    EXPECT_EQ(end(stream), cudaSuccess) << "the capture goes on in its own thread";
    begin(stream, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(end_elsewhere(), cudaSuccess);
}

// "Cross-stream Dependencies and Events": waiting for a captured event brings the other stream into
// the capture; it must come back to the origin stream before the end.
TEST_F(CaptureTest, events_fork_and_join_a_capture) {
    const DeviceWords word;
    const Stream origin;
    const Stream side;
    const Event fork(cudaEventDisableTiming);
    const Event join(cudaEventDisableTiming);
    begin(origin);
    EXPECT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone);
    EXPECT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusActive);
    EXPECT_EQ(capture_id(side), capture_id(origin));
    EXPECT_EQ(launch(WriteValue{word.data(), 3}, side), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(join, side), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(origin, join, 0), cudaSuccess);
    EXPECT_EQ(end(origin), cudaSuccess);
    ASSERT_NE(graph_, nullptr);
    EXPECT_EQ(node_count(graph_), 1u);
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone);
}

// cudaErrorStreamCaptureUnjoined: "The capture sequence contains a fork that was not joined to the
// primary stream."
TEST_F(CaptureTest, a_fork_that_is_not_joined_is_an_error) {
    const DeviceWords word;
    const Stream origin;
    const Stream side;
    const Event fork(cudaEventDisableTiming);
    begin(origin);
    EXPECT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{word.data(), 3}, side), cudaSuccess);
    EXPECT_EQ(end(origin), cudaErrorStreamCaptureUnjoined);
    EXPECT_EQ(graph_, nullptr);
    cudaGetLastError();
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone)
        << "both streams are out of capture mode";
    EXPECT_EQ(status_of(origin), cudaStreamCaptureStatusNone);
}

// cudaErrorStreamCaptureUnmatched: "The capture was not initiated in this stream."
TEST_F(CaptureTest, a_capture_ends_in_the_stream_where_it_began) {
    const Stream origin;
    const Stream side;
    const Event fork(cudaEventDisableTiming);
    begin(origin);
    EXPECT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    EXPECT_EQ(end(side), cudaErrorStreamCaptureUnmatched);
    cudaGetLastError();
    graph_ = nullptr;
    end(origin);
    cudaGetLastError();
}

// cudaErrorStreamCaptureMerge: "a merge of two independent capture sequences".
TEST_F(CaptureTest, two_captures_can_not_be_joined) {
    const DeviceWords word;
    const Stream first;
    const Stream second;
    const Event event(cudaEventDisableTiming);
    begin(first);
    begin(second);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, event, 0), cudaErrorStreamCaptureMerge);
    for (const cudaStream_t stream : {cudaStream_t(first), cudaStream_t(second)}) {
        graph_ = nullptr;
        end(stream);
    }
    cudaGetLastError();
}

// cudaErrorStreamCaptureIsolation: "A dependency would have been created which crosses the capture
// sequence boundary".
TEST_F(CaptureTest, a_capture_can_not_wait_for_work_outside_it) {
    const DeviceWords word;
    const Stream outside;
    const Stream capturing;
    const Event event(cudaEventDisableTiming);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, outside), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, outside), cudaSuccess);
    begin(capturing);
    EXPECT_EQ(cudaStreamWaitEvent(capturing, event, 0), cudaErrorStreamCaptureIsolation);
    graph_ = nullptr;
    end(capturing);
    cudaGetLastError();
}

// A stream of another device can take part.
TEST_F(TwoDeviceCaptureTest, a_stream_of_another_device_joins_the_capture) {
    const PinnedWords words(2);
    const Stream origin;
    const Event fork(cudaEventDisableTiming);
    begin(origin, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    {
        const CurrentDevice current(1);
        const Stream side;
        const Event join(cudaEventDisableTiming);
        EXPECT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
        EXPECT_EQ(launch(WriteValue{words.device_data(), 7}, side), cudaSuccess);
        EXPECT_EQ(cudaEventRecord(join, side), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(origin, join, 0), cudaSuccess);
        EXPECT_EQ(launch(CopyWords{words.device_data() + 1, words.device_data(), 1, 1}, side),
                  cudaSuccess);
        EXPECT_EQ(cudaEventRecord(join, side), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(origin, join, 0), cudaSuccess);
        EXPECT_EQ(end(origin), cudaSuccess);
    }
    ASSERT_NE(graph_, nullptr);
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, origin), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(origin), cudaSuccess);
    EXPECT_EQ(words.load(1), 8u);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

}  // namespace

}  // namespace test
