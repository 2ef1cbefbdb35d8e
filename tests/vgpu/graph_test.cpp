// Graphs: what a captured graph does when it is launched.
// Rules: CUDA Runtime API, "Graph Management"; Programming Guide, "CUDA Graphs" and "CUDA User
// Objects".
#include <atomic>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

/// A graph captured from what `fill` puts into a stream, and its executable form.
class CapturedGraph {
public:
    explicit CapturedGraph(const std::function<void(cudaStream_t)>& fill) {
        const Stream stream;
        require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        fill(stream);
        require(cudaStreamEndCapture(stream, &graph_));
        require(cudaGraphInstantiate(&exec_, graph_, 0));
    }
    ~CapturedGraph() {
        cudaGraphExecDestroy(exec_);
        cudaGraphDestroy(graph_);
    }
    CapturedGraph(const CapturedGraph&) = delete;
    CapturedGraph& operator=(const CapturedGraph&) = delete;

    cudaGraph_t graph() const { return graph_; }
    cudaGraphExec_t exec() const { return exec_; }
    void run() const {
        const Stream stream;
        EXPECT_EQ(cudaGraphLaunch(exec_, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

using GraphTest = CudaTest;
using ConcurrentGraphTest = ConcurrentTest;

std::vector<cudaGraphNodeType> node_types(cudaGraph_t graph) {
    std::size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) {
        EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
    }
    std::vector<cudaGraphNodeType> types;
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type = cudaGraphNodeTypeCount;
        EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
        types.push_back(type);
    }
    return types;
}

// cudaGraphLaunch: may be repeated; each launch does all the work in order.
TEST_F(GraphTest, a_graph_is_replayed_several_times) {
    const DeviceWords word;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 2, 1}, stream), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 3, 0}, stream), cudaSuccess);
    });
    std::uint32_t expected = 0;
    for (int round = 0; round < 5; ++round) {
        graph.run();
        expected = (expected * 2 + 1) * 3;
        EXPECT_EQ(word.read(0), expected);
    }
}

TEST_F(GraphTest, launches_in_one_stream_are_ordered_with_other_work) {
    const DeviceWords word;
    const Stream stream;
    const CapturedGraph graph([&](cudaStream_t capturing) {
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 10, 1}, capturing), cudaSuccess);
    });
    EXPECT_EQ(launch(WriteValue{word.data(), 5}, stream), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(graph.exec(), stream), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 2, 0}, stream), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(graph.exec(), stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 1021u);
}

// cudaGraphLaunch: "Each launch is ordered behind both any previous work in stream and any previous
// launches of graphExec."
TEST_F(GraphTest, launches_of_one_executable_graph_in_two_streams_do_not_overlap) {
    const DeviceWords log(101);
    const Stream first;
    const Stream second;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(launch(AppendToLog{log.data() + 100, log.data(), 1}, stream), cudaSuccess);
        EXPECT_EQ(launch(AppendToLog{log.data() + 100, log.data(), 2}, stream), cudaSuccess);
    });
    for (int round = 0; round < 25; ++round) {
        EXPECT_EQ(cudaGraphLaunch(graph.exec(), first), cudaSuccess);
        EXPECT_EQ(cudaGraphLaunch(graph.exec(), second), cudaSuccess);
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const auto order = log.read();
    EXPECT_EQ(order[100], 100u);
    for (std::size_t index = 0; index < 100; ++index) {
        ASSERT_EQ(order[index], 1 + index % 2) << index;
    }
}

// Kernel arguments are those of the capture.
TEST_F(GraphTest, arguments_are_frozen_at_capture) {
    const DeviceWords word;
    WriteValue arguments{word.data(), 9};
    const CapturedGraph graph([&](cudaStream_t stream) {
        void* pointers[] = {&arguments};
        EXPECT_EQ(cudaLaunchKernel(kernel<WriteValue>(), dim3(1), dim3(1), pointers, 0, stream),
                  cudaSuccess);
    });
    arguments = {};
    graph.run();
    EXPECT_EQ(word.read(0), 9u);
}

// Memory, on the other hand, is read when the graph runs.
TEST_F(GraphTest, copies_read_their_source_at_every_launch) {
    const PinnedWords host(2);
    const DeviceWords device;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(cudaMemcpyAsync(device.data(), host.data(), 4, cudaMemcpyHostToDevice, stream),
                  cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{device.data(), 1, 1}, stream), cudaSuccess);
        EXPECT_EQ(
            cudaMemcpyAsync(host.data() + 1, device.data(), 4, cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
    });
    for (const std::uint32_t value : {3u, 40u}) {
        host.store(value, 0);
        graph.run();
        EXPECT_EQ(host.load(1), value + 1);
    }
}

// Programming Guide, "Graph Structure": node types of what was captured.
TEST_F(GraphTest, nodes_have_the_type_of_what_was_captured) {
    const DeviceWords words(2);
    const PinnedWords host;
    int calls = 0;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(cudaMemsetAsync(words.data(), 0, 4, stream), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{words.data(), 1, 4}, stream), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(host.data(), words.data(), 4, cudaMemcpyDeviceToHost, stream),
                  cudaSuccess);
        EXPECT_EQ(cudaLaunchHostFunc(
                      stream, [](void* data) { ++*static_cast<int*>(data); }, &calls),
                  cudaSuccess);
    });
    EXPECT_THAT(node_types(graph.graph()),
                testing::UnorderedElementsAre(cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel,
                                              cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost));
    graph.run();
    graph.run();
    EXPECT_EQ(host.load(), 4u);
    EXPECT_EQ(calls, 2);
}

TEST_F(GraphTest, an_empty_graph_can_be_launched) {
    const CapturedGraph graph([](cudaStream_t) {});
    EXPECT_TRUE(node_types(graph.graph()).empty());
    graph.run();
}

// cudaGraphInstantiate makes a copy: the graph may be destroyed.
TEST_F(GraphTest, an_executable_graph_outlives_its_graph) {
    const DeviceWords word;
    const Stream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_EQ(launch(WriteValue{word.data(), 12}, stream), cudaSuccess);
    require(cudaStreamEndCapture(stream, &graph));
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 12u);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

/// A second stream that is forked off a capture and joined again. It must outlive the capture.
struct Branch {
    const Stream side;
    const Event fork{cudaEventDisableTiming};
    const Event join{cudaEventDisableTiming};

    void begin(cudaStream_t origin) const {
        EXPECT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    }
    void end(cudaStream_t origin) const {
        EXPECT_EQ(cudaEventRecord(join, side), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(origin, join, 0), cudaSuccess);
    }
};

// "Cross-stream Dependencies and Events": the graph has the order that the events gave.
TEST_F(GraphTest, a_join_waits_for_both_branches) {
    const DeviceWords words(3);
    const Branch branch;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(launch(WriteValue{words.data(), 5}, stream), cudaSuccess);
        branch.begin(stream);
        EXPECT_EQ(launch(CopyWords{words.data() + 1, words.data(), 1, 1}, stream), cudaSuccess);
        EXPECT_EQ(launch(CopyWords{words.data() + 2, words.data(), 1, 2}, branch.side),
                  cudaSuccess);
        branch.end(stream);
        EXPECT_EQ(launch(CopyWords{words.data(), words.data() + 1, 2, 10}, stream), cudaSuccess);
    });
    graph.run();
    EXPECT_THAT(words.read(), testing::ElementsAre(16, 17, 7));
}

// Branches without order between them may run at a time.
TEST_F(ConcurrentGraphTest, branches_of_a_graph_can_meet) {
    const DeviceWords words(4);
    const Branch branch;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(cudaMemsetAsync(words.data(), 0, 16, stream), cudaSuccess);
        branch.begin(stream);
        EXPECT_EQ(launch(Meet{words.data(), words.data() + 1, words.data() + 2}, stream),
                  cudaSuccess);
        EXPECT_EQ(launch(Meet{words.data() + 1, words.data(), words.data() + 3}, branch.side),
                  cudaSuccess);
        branch.end(stream);
    });
    for (int round = 0; round < 3; ++round) {
        graph.run();
        EXPECT_EQ(words.read(2), outcome_ready);
        EXPECT_EQ(words.read(3), outcome_ready);
    }
}

// A launch is asynchronous, and later work of the stream waits for the whole graph.
TEST_F(GraphTest, work_behind_a_launch_waits_for_the_graph) {
    const DeviceWords word;
    const PinnedWords open;
    const Stream stream;
    const CapturedGraph graph([&](cudaStream_t capturing) {
        EXPECT_EQ(launch(AwaitFlag{.flag = open.device_data(), .target = word.data(), .value = 6},
                         capturing),
                  cudaSuccess);
    });
    EXPECT_EQ(cudaGraphLaunch(graph.exec(), stream), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 7, 0}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    open.store(1);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 42u);
}

// A graph can be launched into the legacy default stream, which cannot be captured itself.
TEST_F(GraphTest, a_graph_runs_in_the_default_stream) {
    const DeviceWords word;
    const CapturedGraph graph([&](cudaStream_t stream) {
        EXPECT_EQ(launch(WriteValue{word.data(), 2}, stream), cudaSuccess);
    });
    EXPECT_EQ(cudaGraphLaunch(graph.exec(), cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{word.data(), 3, 0}, cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(word.read(0), 6u);
}

// cudaEventRecordExternal: "Event is captured in the graph as an external event node": each launch
// records it.
TEST_F(GraphTest, an_external_event_is_recorded_by_the_launch) {
    const PinnedWords word;
    const Stream stream;
    const Event event(cudaEventDisableTiming);
    const CapturedGraph graph([&](cudaStream_t capturing) {
        EXPECT_EQ(launch(WriteValue{word.device_data(), 4}, capturing), cudaSuccess);
        EXPECT_EQ(cudaEventRecordWithFlags(event, capturing, cudaEventRecordExternal), cudaSuccess);
    });
    EXPECT_THAT(
        node_types(graph.graph()),
        testing::UnorderedElementsAre(cudaGraphNodeTypeKernel, cudaGraphNodeTypeEventRecord));
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "capturing does not record it";
    EXPECT_EQ(cudaGraphLaunch(graph.exec(), stream), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_EQ(word.load(), 4u);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

// cudaEventWaitExternal: the launch waits for what the event holds then.
TEST_F(GraphTest, an_external_wait_is_a_node) {
    const DeviceWords word;
    const Stream producer;
    const Stream stream;
    const Event event(cudaEventDisableTiming);
    const CapturedGraph graph([&](cudaStream_t capturing) {
        EXPECT_EQ(cudaStreamWaitEvent(capturing, event, cudaEventWaitExternal), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 2, 0}, capturing), cudaSuccess);
    });
    EXPECT_THAT(node_types(graph.graph()),
                testing::UnorderedElementsAre(cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeKernel));
    Gate gate;
    gate.close(producer);
    EXPECT_EQ(launch(WriteValue{word.data(), 8}, producer), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, producer), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(graph.exec(), stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 16u);
}

TEST_F(GraphTest, unknown_flags_of_instantiation_are_invalid_value) {
    const CapturedGraph graph([](cudaStream_t) {});
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph.graph(), 1ull << 40), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGraphInstantiate(&exec, nullptr, 0), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGraphInstantiate(nullptr, graph.graph(), 0), cudaErrorInvalidValue);
    cudaGetLastError();
}

// "CUDA User Objects": reference counted resources.
class UserObjectTest : public CudaTest {
protected:
    cudaUserObject_t make(unsigned references = 1) {
        cudaUserObject_t object = nullptr;
        EXPECT_EQ(
            cudaUserObjectCreate(
                &object, &destroyed_, [](void* data) { ++*static_cast<std::atomic<int>*>(data); },
                references, cudaUserObjectNoDestructorSync),
            cudaSuccess);
        return object;
    }
    /// The destructor runs on a thread of the runtime, some time after the last reference is gone.
    bool is_destroyed() {
        return eventually([this] { return destroyed_ == 1; });
    }

    std::atomic<int> destroyed_{0};
};

// cudaUserObjectRelease: "The object's destructor is invoked if the reference count reaches zero."
TEST_F(UserObjectTest, the_destructor_runs_when_the_last_reference_goes) {
    const cudaUserObject_t object = make(2);
    EXPECT_EQ(cudaUserObjectRetain(object, 1), cudaSuccess);
    EXPECT_EQ(cudaUserObjectRelease(object, 2), cudaSuccess);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaSuccess);
    EXPECT_TRUE(is_destroyed());
}

// cudaGraphRetainUserObject with cudaGraphUserObjectMove: the graph owns the caller's reference;
// executable graphs hold their own.
TEST_F(UserObjectTest, graphs_and_executable_graphs_keep_the_object) {
    const Stream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    const DeviceWords word;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaSuccess);
    require(cudaStreamEndCapture(stream, &graph));
    const cudaUserObject_t object = make();
    EXPECT_EQ(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), cudaSuccess);
    require(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(destroyed_, 0) << "the executable graph still holds it";
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(is_destroyed());
}

TEST_F(UserObjectTest, a_graph_gives_its_reference_back) {
    cudaGraph_t graph = nullptr;
    require(cudaGraphCreate(&graph, 0));
    const cudaUserObject_t object = make();
    EXPECT_EQ(cudaGraphRetainUserObject(graph, object, 1, 0), cudaSuccess) << "a new reference";
    EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaSuccess);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(cudaGraphReleaseUserObject(graph, object, 1), cudaSuccess);
    EXPECT_TRUE(is_destroyed());
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(UserObjectTest, wrong_arguments_are_invalid_value) {
    cudaUserObject_t object = nullptr;
    const auto destroy = [](void*) {};
    EXPECT_EQ(cudaUserObjectCreate(&object, nullptr, destroy, 1, 0), cudaErrorInvalidValue)
        << "the flag is required";
    EXPECT_EQ(cudaUserObjectCreate(&object, nullptr, destroy, 0, cudaUserObjectNoDestructorSync),
              cudaErrorInvalidValue);
    object = make();
    EXPECT_EQ(cudaUserObjectRetain(object, 0), cudaErrorInvalidValue);
    EXPECT_EQ(cudaUserObjectRelease(object, 0), cudaErrorInvalidValue);
    EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaSuccess);
    EXPECT_TRUE(is_destroyed());
    cudaGetLastError();
}

}  // namespace

}  // namespace test
