// CUDA graphs made by stream capture: capture, the graph, and the executable graph.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "cuda/capture_mode.hpp"
#include "cuda/stream.hpp"

namespace rondo {

/// Owns a graph that was captured on a stream of `device`. Move-only.
class Graph {
public:
    Graph(DeviceId device, cudaGraph_t handle) noexcept : device_(device), handle_(handle) {}
    ~Graph();

    Graph(Graph&& other) noexcept;
    Graph& operator=(Graph&& other) noexcept;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    DeviceId device() const noexcept { return device_; }
    cudaGraph_t get() const noexcept { return handle_; }
    std::size_t node_count() const;

private:
    DeviceId device_;
    cudaGraph_t handle_;
};

/// Owns an executable graph; the Graph may go. Only one launch runs at a time, later ones queue.
/// Move-only.
class GraphExec {
public:
    /// Throws CudaError when the graph can not be run.
    explicit GraphExec(const Graph& graph);
    ~GraphExec();

    GraphExec(GraphExec&& other) noexcept;
    GraphExec& operator=(GraphExec&& other) noexcept;
    GraphExec(const GraphExec&) = delete;
    GraphExec& operator=(const GraphExec&) = delete;

    cudaGraphExec_t get() const noexcept { return handle_; }
    /// Asynchronous, in stream order.
    void launch(StreamRef stream) const;

private:
    DeviceId device_;
    cudaGraphExec_t handle_ = nullptr;
};

/// Captures what is put into a stream from construction until end(). Destroyed without end() (an
/// exception passes), it ends the capture and throws the graph away. Begin and end in one thread.
/// The stream must outlive it.
class StreamCapture {
public:
    explicit StreamCapture(StreamRef stream,
                           cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal);
    ~StreamCapture();

    StreamCapture(const StreamCapture&) = delete;
    StreamCapture& operator=(const StreamCapture&) = delete;

    /// Once. Throws CudaError when something forbidden during capture has invalidated it; the
    /// stream is usable again then.
    Graph end();

private:
    StreamRef stream_;
    bool active_ = false;
};

/// The graph that a capturing stream builds, or null when it does not capture.
cudaGraph_t graph_being_captured(StreamRef stream);

}  // namespace rondo
