// Streams, events, peers and graphs: kernels and copies in the order that was asked for.
#include <vector>

#include "check.hpp"

constexpr int count = 4096;

__global__ void add(int* data, int value) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void copy_from_peer(int* mine, const int* peers) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    mine[i] = peers[i];
}

void expect_all(const int* memory, int value, const char* what) {
    std::vector<int> host(count);
    to_host(host.data(), memory, count);
    for (int i = 0; i < count; ++i) expect_equal(host[i], value, what, i);
}

void order_by_events(int* data) {
    cudaStream_t first, second;
    cudaEvent_t done;
    check(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), "stream");
    check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&done), "event");
    for (int i = 0; i < 8; ++i) add<<<count / 256, 256, 0, first>>>(data, 1);
    check(cudaEventRecord(done, first), "record");
    check(cudaStreamWaitEvent(second, done), "wait");
    add<<<count / 256, 256, 0, second>>>(data, 2);
    check(cudaStreamSynchronize(second), "synchronise");
    expect_all(data, 10, "after the event");
}

void launch_graph(int* data) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamCreate(&stream), "stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    check(cudaMemsetAsync(data, 0, count * sizeof(int), stream), "memset");
    add<<<count / 256, 256, 0, stream>>>(data, 3);
    add<<<count / 256, 256, 0, stream>>>(data, 4);
    check(cudaStreamEndCapture(stream, &graph), "end of capture");
    check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    for (int i = 0; i < 3; ++i) check(cudaGraphLaunch(executable, stream), "launch");
    check(cudaStreamSynchronize(stream), "synchronise");
    expect_all(data, 7, "after the graph");
}

int main() {
    const std::vector<int> zeros(count);
    int* data = to_device(zeros.data(), count);
    order_by_events(data);
    launch_graph(data);
    check(cudaSetDevice(1), "cudaSetDevice");
    int* other = to_device(zeros.data(), count);
    check(cudaMemcpyPeer(other, 1, data, 0, count * sizeof(int)), "cudaMemcpyPeer");
    expect_all(other, 7, "copied to the peer");
    check(cudaMemset(other, 0, count * sizeof(int)), "cudaMemset");
    check(cudaDeviceEnablePeerAccess(0, 0), "cudaDeviceEnablePeerAccess");
    copy_from_peer<<<count / 256, 256>>>(other, data);
    expect_all(other, 7, "read from the peer");
    std::printf("streams: right\n");
}
