// Capture, graphs, and what happens when a capture is broken off.
#include "cuda/graph.hpp"

#include <thread>

#include "cuda/buffer.hpp"
#include "cuda/check.hpp"
#include "cuda/event.hpp"
#include "tests/vgpu/cuda_fixture.hpp"

namespace rondo {

namespace {

using GraphTest = test::CudaTest;

TEST_F(GraphTest, a_captured_graph_runs_as_often_as_wanted) {
    const test::DeviceWords word;
    const Stream stream(DeviceId(0));
    StreamCapture capture(stream);
    EXPECT_TRUE(stream.capturing());
    check(test::launch(test::MultiplyAdd{word.data(), 2, 1}, stream.get()));
    const Graph graph = capture.end();
    EXPECT_FALSE(stream.capturing());
    EXPECT_EQ(graph.node_count(), 1u);
    const GraphExec exec(graph);
    for (int round = 0; round < 3; ++round) {
        exec.launch(stream);
    }
    stream.synchronize();
    EXPECT_EQ(word.read(0), 7u);
}

TEST_F(GraphTest, the_executable_graph_outlives_the_graph_and_can_be_moved) {
    const test::DeviceWords word;
    const Stream stream(DeviceId(0));
    const auto make = [&] {
        StreamCapture capture(stream);
        check(test::launch(test::WriteValue{word.data(), 4}, stream.get()));
        return GraphExec(capture.end());
    };
    GraphExec first = make();
    GraphExec second(std::move(first));
    GraphExec third = make();
    third = std::move(second);
    third.launch(stream);
    stream.synchronize();
    EXPECT_EQ(word.read(0), 4u);
}

TEST_F(GraphTest, a_capture_that_an_exception_leaves_is_ended) {
    const test::DeviceWords word;
    const Stream stream(DeviceId(0));
    try {
        const StreamCapture capture(stream);
        check(test::launch(test::WriteValue{word.data(), 1}, stream.get()));
        throw Error("something went wrong");
    } catch (const Error&) {
    }
    EXPECT_FALSE(stream.capturing());
    check(test::launch(test::WriteValue{word.data(), 2}, stream.get()));
    stream.synchronize();
    EXPECT_EQ(word.read(0), 2u);
}

TEST_F(GraphTest, an_invalidated_capture_throws_at_its_end_and_frees_the_stream) {
    const Stream stream(DeviceId(0));
    StreamCapture capture(stream);
    EXPECT_THROW(stream.synchronize(), CudaError);
    EXPECT_THROW(stream.capturing(), CudaError);
    EXPECT_THROW(capture.end(), CudaError);
    EXPECT_FALSE(stream.capturing());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(GraphTest, a_capture_ends_once) {
    const Stream stream(DeviceId(0));
    StreamCapture capture(stream);
    const Graph graph = capture.end();
    EXPECT_THROW(capture.end(), Error);
}

TEST_F(GraphTest, a_stream_can_not_be_captured_twice) {
    const Stream stream(DeviceId(0));
    StreamCapture capture(stream);
    EXPECT_THROW(StreamCapture{stream}, CudaError);
}

/// What a library does behind its callers' backs.
void keep_house(const Stream& stream, const Event& event) {
    EXPECT_TRUE(event.ready());
    event.synchronize();
    stream.wait(event);
    const DeviceBuffer<int> buffer(DeviceId(0), 10);
    const PinnedBuffer<int> pinned(DeviceId(0), 10);
    const Event another(DeviceId(0));
    const Stream short_lived(DeviceId(0));
}

TEST_F(GraphTest, housekeeping_does_not_touch_a_capture_of_the_same_thread) {
    for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
        const test::PinnedWords words(1);
        const Stream captured(DeviceId(0));
        const Stream stream(DeviceId(0));
        const Event event(DeviceId(0));
        event.record(stream);
        event.synchronize();
        StreamCapture capture(captured, mode);
        test::require(test::launch(test::WriteValue{words.device_data(), 5}, captured.get()));
        keep_house(stream, event);
        const Graph graph = capture.end();
        EXPECT_EQ(graph.node_count(), 1u);
    }
}

TEST_F(GraphTest, housekeeping_does_not_touch_a_global_capture_of_another_thread) {
    const Stream captured(DeviceId(0));
    const Stream stream(DeviceId(0));
    const Event event(DeviceId(0));
    event.record(stream);
    event.synchronize();
    StreamCapture capture(captured, cudaStreamCaptureModeGlobal);
    std::thread([&] { keep_house(stream, event); }).join();
    EXPECT_NO_THROW(capture.end());
}

TEST_F(GraphTest, relaxed_scopes_nest_and_put_the_mode_back) {
    const auto mode = [] {
        cudaStreamCaptureMode found = cudaStreamCaptureModeRelaxed;
        test::require(cudaThreadExchangeStreamCaptureMode(&found));
        cudaStreamCaptureMode back = found;
        test::require(cudaThreadExchangeStreamCaptureMode(&back));
        return found;
    };
    ASSERT_EQ(mode(), cudaStreamCaptureModeGlobal);
    {
        const RelaxedCaptureMode outer;
        {
            const RelaxedCaptureMode inner;
            EXPECT_EQ(mode(), cudaStreamCaptureModeRelaxed);
        }
        EXPECT_EQ(mode(), cudaStreamCaptureModeRelaxed) << "the outer one lives";
    }
    EXPECT_EQ(mode(), cudaStreamCaptureModeGlobal);
}

}  // namespace

}  // namespace rondo
