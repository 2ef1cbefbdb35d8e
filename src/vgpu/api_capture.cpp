// Stream capture: recording what is put on streams as a graph.
#include <algorithm>
#include <unordered_set>

#include "vgpu/api.hpp"

namespace vgpu {

void abandon_capture(Machine& machine, Capture& capture) {
    for (Stream* stream : std::set<Stream*>(capture.streams)) {
        stream->capture_tail.clear();
        stream->capture = nullptr;  // the caller keeps the capture alive
    }
    for (auto& [handle, event] : machine.events) {
        if (event->capture.get() == &capture) event->captured_after.clear();
    }
    std::erase(machine.active_captures, &capture);
    machine.captures.fetch_sub(1);
}

namespace {

/// Nodes from which `tail` can be reached, and `tail` itself.
std::unordered_set<const GraphNode*> ancestors(const std::vector<GraphNode*>& tail) {
    std::unordered_set<const GraphNode*> seen(tail.begin(), tail.end());
    std::vector<const GraphNode*> open(tail.begin(), tail.end());
    while (!open.empty()) {
        const GraphNode* node = open.back();
        open.pop_back();
        for (const GraphNode* earlier : node->dependencies) {
            if (seen.insert(earlier).second) open.push_back(earlier);
        }
    }
    return seen;
}

cudaStreamCaptureStatus status_of(const Stream& stream) {
    if (!stream.capture) return cudaStreamCaptureStatusNone;
    return stream.capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
}

cudaError_t end_capture(Machine& machine, Stream& stream, cudaGraph_t* graph) {
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture) throw ApiError{cudaErrorIllegalState, "the stream is not capturing"};
    if (capture->origin != &stream) {
        capture->invalidated = true;
        throw ApiError{cudaErrorStreamCaptureUnmatched, "the capture was begun on another stream"};
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
        throw ApiError{cudaErrorStreamCaptureWrongThread,
                       "the capture was begun by another thread"};
    }
    const auto joined = ancestors(stream.capture_tail);
    const auto& nodes = capture->graph->nodes;
    const bool all_joined = std::all_of(
        nodes.begin(), nodes.end(), [&](const auto& node) { return joined.contains(node.get()); });
    const bool invalidated = capture->invalidated;
    abandon_capture(machine, *capture);
    if (invalidated)
        throw ApiError{cudaErrorStreamCaptureInvalidated,
                       "the capture was invalidated by an earlier call"};
    if (!all_joined)
        throw ApiError{cudaErrorStreamCaptureUnjoined,
                       "work on another stream was not joined to the first one"};
    *graph = reinterpret_cast<cudaGraph_t>(capture->graph.get());
    machine.graphs.graphs.emplace(capture->graph.get(), std::move(capture->graph));
    return cudaSuccess;
}

/// Where to store what a caller wants to know; null: not wanted.
struct CaptureInfo {
    unsigned long long* id;
    cudaGraph_t* graph;
    const cudaGraphNode_t** dependencies;
    size_t* count;
};

cudaError_t capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status,
                         const CaptureInfo& wanted) {
    return api("cudaStreamGetCaptureInfo", [&](Machine& machine) {
        require(status != nullptr, "captureStatus_out is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        Stream& stream = stream_at(machine, handle);
        *status = status_of(stream);
        if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
        if (wanted.id != nullptr) *wanted.id = stream.capture->id;
        if (wanted.graph != nullptr)
            *wanted.graph = reinterpret_cast<cudaGraph_t>(stream.capture->graph.get());
        if (wanted.dependencies != nullptr) {
            *wanted.dependencies =
                reinterpret_cast<const cudaGraphNode_t*>(stream.capture_tail.data());
        }
        if (wanted.count != nullptr) *wanted.count = stream.capture_tail.size();
        return cudaSuccess;
    });
}

}  // namespace

}  // namespace vgpu

using namespace vgpu;

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return api("cudaStreamBeginCapture", [&](Machine& machine) {
        require(mode == cudaStreamCaptureModeGlobal || mode == cudaStreamCaptureModeThreadLocal ||
                    mode == cudaStreamCaptureModeRelaxed,
                "the mode is unknown");
        std::scoped_lock lock(machine.scheduler().mutex());
        Stream& stream = stream_at(machine, handle);
        if (stream.legacy)
            throw ApiError{cudaErrorStreamCaptureUnsupported, "the legacy stream can't capture"};
        if (stream.capture)
            throw ApiError{cudaErrorIllegalState, "the stream is capturing already"};
        auto capture = std::make_shared<Capture>();
        capture->id = machine.next_id++;
        capture->mode = mode;
        capture->thread = std::this_thread::get_id();
        capture->origin = &stream;
        capture->graph = std::make_unique<Graph>();
        capture->streams.insert(&stream);
        stream.capture = capture;
        stream.capture_tail.clear();
        machine.active_captures.push_back(capture.get());
        machine.captures.fetch_add(1);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    return api("cudaStreamEndCapture", [&](Machine& machine) {
        require(graph != nullptr, "pGraph is null");
        *graph = nullptr;
        std::scoped_lock lock(machine.scheduler().mutex());
        return end_capture(machine, stream_at(machine, handle), graph);
    });
}

cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    return api("cudaStreamIsCapturing", [&](Machine& machine) {
        require(status != nullptr, "pCaptureStatus is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        Stream& stream = stream_at(machine, handle);
        if (stream.legacy) {
            for (Stream* other : machine.device(stream.device).streams) {
                if (other->capture && other->blocking())
                    throw ApiError{cudaErrorStreamCaptureImplicit,
                                   "a blocking stream of the device captures"};
            }
        }
        *status = status_of(stream);
        return cudaSuccess;
    });
}

// CUDA 12 has an older form without edges under this name.
#if CUDART_VERSION >= 13000
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                               unsigned long long* id, cudaGraph_t* graph,
                                               const cudaGraphNode_t** dependencies,
                                               const cudaGraphEdgeData** edges, size_t* count) {
    if (edges != nullptr) *edges = nullptr;  // all edges are plain ones
    return capture_info(stream, status, {id, graph, dependencies, count});
}
#else
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                               unsigned long long* id, cudaGraph_t* graph,
                                               const cudaGraphNode_t** dependencies,
                                               size_t* count) {
    return capture_info(stream, status, {id, graph, dependencies, count});
}
#endif

cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return api("cudaThreadExchangeStreamCaptureMode", [&](Machine&) {
        require(mode != nullptr, "mode is null");
        require(*mode == cudaStreamCaptureModeGlobal || *mode == cudaStreamCaptureModeThreadLocal ||
                    *mode == cudaStreamCaptureModeRelaxed,
                "the mode is unknown");
        std::swap(*mode, this_thread().capture_mode);
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
