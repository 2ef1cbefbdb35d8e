// An all-reduce captured in CUDA graphs, one per GPU, and replayed between calls as usual.
#include <cstdio>
#include <vector>

#include <rondo/communicator.hpp>

namespace {

void check(cudaError_t status) {
    if (status != cudaSuccess) throw rondo::CudaError(status, cudaGetErrorString(status));
}

}  // namespace

int main() try {
    rondo::Communicator comm = rondo::Communicator::create();
    const std::vector<int> devices = comm.devices();
    const std::size_t ranks = devices.size();

    std::vector<std::int64_t> host(50'000);
    const std::size_t bytes = host.size() * sizeof(host[0]);
    std::vector<rondo::Tensor<std::int64_t>> tensors;
    std::vector<cudaStream_t> streams(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        check(cudaSetDevice(devices[r]));
        check(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking));
        tensors.push_back(rondo::Tensor<std::int64_t>::allocate(devices[r], host.size()));
        host.assign(host.size(), 1);
        check(cudaMemcpy(tensors[r].data(), host.data(), bytes, cudaMemcpyDefault));
    }
    // In place: each call multiplies every element by the number of ranks.
    const auto all_reduce = [&] {
        return comm.all_reduce(rondo::ReduceOp::sum, rondo::PerReplica<std::int64_t>(tensors),
                               {.streams = streams});
    };

    for (cudaStream_t stream : streams) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    }
    all_reduce();  // recorded, not run
    std::vector<cudaGraphExec_t> graphs(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        cudaGraph_t graph = nullptr;
        check(cudaStreamEndCapture(streams[r], &graph));
        check(cudaGraphInstantiate(&graphs[r], graph, 0));
        check(cudaGraphDestroy(graph));
    }
    const auto replay = [&] {
        for (std::size_t r = 0; r < ranks; ++r) check(cudaGraphLaunch(graphs[r], streams[r]));
    };

    replay();
    replay();
    all_reduce();
    replay();
    all_reduce().wait();

    std::int64_t expected = 1;
    for (int calls = 0; calls < 5; ++calls) expected *= static_cast<std::int64_t>(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        check(cudaMemcpy(host.data(), tensors[r].data(), bytes, cudaMemcpyDefault));
        for (const std::int64_t value : host) {
            if (value != expected) throw rondo::Error("wrong sum");
        }
        check(cudaGraphExecDestroy(graphs[r]));
        check(cudaStreamDestroy(streams[r]));
    }
    std::printf("%zu GPUs: 3 replays and 2 calls gave %lld\n", ranks,
                static_cast<long long>(expected));
} catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_graph: %s\n", error.what());
    return 1;
}
