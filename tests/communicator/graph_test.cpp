// Collectives inside CUDA graphs.
#include <optional>

#include "tests/communicator/fixture.hpp"
#include "tests/communicator/test_memory.hpp"

namespace rondo::test {
namespace {

/// A stream per device; all but the first join a capture that begins on the first.
class CapturedStreams {
public:
    explicit CapturedStreams(int ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            expect_success(cudaSetDevice(rank));
            streams_.emplace_back();
            events_.emplace_back();
            expect_success(cudaStreamCreateWithFlags(&streams_.back(), cudaStreamNonBlocking));
            expect_success(cudaEventCreateWithFlags(&events_.back(), cudaEventDisableTiming));
        }
    }
    ~CapturedStreams() {
        for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
        for (cudaEvent_t event : events_) cudaEventDestroy(event);
    }

    void begin() {
        expect_success(cudaSetDevice(0));
        expect_success(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal));
        expect_success(cudaEventRecord(events_[0], streams_[0]));
        for (std::size_t rank = 1; rank < streams_.size(); ++rank) {
            expect_success(cudaStreamWaitEvent(streams_[rank], events_[0], 0));
        }
    }
    cudaGraphExec_t end() {
        for (std::size_t rank = 1; rank < streams_.size(); ++rank) {
            expect_success(cudaSetDevice(static_cast<int>(rank)));
            expect_success(cudaEventRecord(events_[rank], streams_[rank]));
            expect_success(cudaStreamWaitEvent(streams_[0], events_[rank], 0));
        }
        expect_success(cudaSetDevice(0));
        cudaGraph_t graph = nullptr;
        expect_success(cudaStreamEndCapture(streams_[0], &graph));
        cudaGraphExec_t executable = nullptr;
        expect_success(cudaGraphInstantiate(&executable, graph, 0));
        expect_success(cudaGraphDestroy(graph));
        return executable;
    }
    /// Makes every stream wait for the first.
    void follow_first() {
        expect_success(cudaSetDevice(0));
        expect_success(cudaEventRecord(events_[0], streams_[0]));
        for (std::size_t rank = 1; rank < streams_.size(); ++rank) {
            expect_success(cudaStreamWaitEvent(streams_[rank], events_[0], 0));
        }
    }
    const std::vector<cudaStream_t>& all() const { return streams_; }

private:
    std::vector<cudaStream_t> streams_;
    std::vector<cudaEvent_t> events_;
};

struct Setting {
    std::string strategy;
    MemorySource source = MemorySource::device;
};

class Graphs : public testing::TestWithParam<Setting> {};

TEST_P(Graphs, ReplaysMixWithEagerCallsAndOutliveTheCommunicator) {
    constexpr int ranks = 3;
    CapturedStreams streams(ranks);
    TestMemory memory(GetParam().source);
    std::vector<Tensor<float>> tensors;
    const std::vector<float> ones(5000, 1);
    for (int rank = 0; rank < ranks; ++rank) {
        auto* const data =
            reinterpret_cast<float*>(memory.allocate(rank, ones.size() * sizeof(float)));
        expect_success(
            cudaMemcpy(data, ones.data(), ones.size() * sizeof(float), cudaMemcpyDefault));
        tensors.emplace_back(rank, data, ones.size());
    }
    const PerReplica<float> value(tensors);
    float expected = 1;
    cudaGraphExec_t executable = nullptr;
    {
        CommunicatorOptions options = options_of(ranks);
        options.strategy = parse_strategy(GetParam().strategy);
        Communicator comm = Communicator::create(options);
        const CallOptions on_streams{.streams = streams.all()};
        streams.begin();
        Work work = comm.all_reduce(ReduceOp::sum, value, on_streams);
        comm.all_reduce(ReduceOp::mean, value, on_streams);
        EXPECT_TRUE(work.query());
        executable = streams.end();
        for (int round = 0; round < 4; ++round) {
            expect_success(cudaGraphLaunch(executable, streams.all()[0]));
            expected *= ranks;
            streams.follow_first();
            comm.all_reduce(ReduceOp::sum, value, on_streams).wait();
            expected *= ranks;
        }
        EXPECT_EQ(values_of(value[1]), std::vector<float>(5000, expected));
    }
    expect_success(cudaGraphLaunch(executable, streams.all()[0]));
    expect_success(cudaStreamSynchronize(streams.all()[0]));
    EXPECT_EQ(values_of(value[2]), std::vector<float>(5000, expected * ranks));
    expect_success(cudaGraphExecDestroy(executable));
    for (const Tensor<float>& tensor : tensors) expect_success(cudaFree(tensor.data()));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Graphs,
                         testing::Values(Setting{"direct(1)"}, Setting{"direct(2)"},
                                         Setting{"ring"}, Setting{"tree(2)"},
                                         Setting{"direct(2)", MemorySource::closed_pool},
                                         Setting{"direct(2)", MemorySource::mixed}),
                         [](const auto& parameter) {
                             std::string name = parameter.param.strategy;
                             std::erase_if(name, [](char c) { return c == '(' || c == ')'; });
                             return name + "_" + to_string(parameter.param.source);
                         });

}  // namespace
}  // namespace rondo::test
