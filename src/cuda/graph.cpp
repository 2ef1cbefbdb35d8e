#include "cuda/graph.hpp"

#include <utility>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo {

Graph::~Graph() {
    if (handle_ != nullptr) {
        check_noexcept(cudaGraphDestroy(handle_), "cudaGraphDestroy");
    }
}

Graph::Graph(Graph&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
}

std::size_t Graph::node_count() const {
    std::size_t count = 0;
    check(cudaGraphGetNodes(handle_, nullptr, &count), "cudaGraphGetNodes");
    return count;
}

GraphExec::GraphExec(const Graph& graph) : device_(graph.device()) {
    const DeviceGuard guard(device_);
    check(cudaGraphInstantiate(&handle_, graph.get(), 0), "cudaGraphInstantiate");
}

GraphExec::~GraphExec() {
    if (handle_ != nullptr) {
        check_noexcept(cudaGraphExecDestroy(handle_), "cudaGraphExecDestroy");
    }
}

GraphExec::GraphExec(GraphExec&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

GraphExec& GraphExec::operator=(GraphExec&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
}

void GraphExec::launch(StreamRef stream) const {
    const DeviceGuard guard(stream.device());
    check(cudaGraphLaunch(handle_, stream.get()), "cudaGraphLaunch");
}

StreamCapture::StreamCapture(StreamRef stream, cudaStreamCaptureMode mode) : stream_(stream) {
    const DeviceGuard guard(stream_.device());
    check(cudaStreamBeginCapture(stream_.get(), mode), "cudaStreamBeginCapture");
    active_ = true;
}

StreamCapture::~StreamCapture() {
    if (!active_) {
        return;
    }
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(stream_.get(), &graph) == cudaSuccess) {
        check_noexcept(cudaGraphDestroy(graph), "cudaGraphDestroy");
    } else {
        static_cast<void>(
            cudaGetLastError());  // it was invalidated, and whoever did that has reported it
    }
}

Graph StreamCapture::end() {
    if (!active_) {
        throw Error("StreamCapture::end() was called twice");
    }
    const DeviceGuard guard(stream_.device());
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
    active_ = false;  // only now: if it failed, the destructor makes sure that the stream is free
    return Graph(stream_.device(), graph);
}

cudaGraph_t graph_being_captured(StreamRef stream) {
    const DeviceGuard guard(stream.device());
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    check(
        cudaStreamGetCaptureInfo(stream.get(), &status, nullptr, &graph, nullptr, nullptr, nullptr),
        "cudaStreamGetCaptureInfo");
#else
    check(cudaStreamGetCaptureInfo_v2(stream.get(), &status, nullptr, &graph, nullptr, nullptr),
          "cudaStreamGetCaptureInfo");
#endif
    return status == cudaStreamCaptureStatusActive ? graph : nullptr;
}

}  // namespace rondo
