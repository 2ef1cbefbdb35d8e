// Capture, graphs, and what happens when a capture is broken off.
#include "cuda/graph.hpp"

#include "cuda/check.hpp"
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

}  // namespace

}  // namespace rondo
