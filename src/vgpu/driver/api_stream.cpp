// Streams, events, capture and graphs: handles are those of the runtime API.
#include "vgpu/driver/driver.hpp"

using namespace vgpu;
using namespace vgpu::driver;

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
    return with_context([&] { return cudaStreamCreateWithFlags(stream, flags); });
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
    return with_context([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
    return with_init([&] { return cudaStreamDestroy(stream); });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
    return with_init([&] { return cudaStreamSynchronize(stream); });
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
    return with_init([&] { return cudaStreamQuery(stream); });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    return with_init([&] { return cudaStreamWaitEvent(stream, event, flags); });
}

CUresult CUDAAPI cuStreamGetFlags(CUstream stream, unsigned int* flags) {
    return with_init([&] { return cudaStreamGetFlags(stream, flags); });
}

CUresult CUDAAPI cuStreamGetPriority(CUstream stream, int* priority) {
    return with_init([&] { return cudaStreamGetPriority(stream, priority); });
}

CUresult CUDAAPI cuStreamGetId(CUstream stream, unsigned long long* id) {
    return with_init([&] { return cudaStreamGetId(stream, id); });
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext* context) {
    return with_init([&] {
        require(context != nullptr, "pctx is null");
        Machine& all = machine();
        const std::scoped_lock lock(all.scheduler().mutex());
        *context = handle_of(&primary_context(stream_at(all, stream).device));
        return cudaSuccess;
    });
}

CUresult CUDAAPI cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                                     unsigned int flags) {
    return with_context([&] {
        return cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), data,
                                     flags);
    });
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    return with_context(
        [&] { return cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)); });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    return with_context([&] { return cudaStreamEndCapture(stream, graph); });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return with_init([&] {
        return cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status));
    });
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return with_init([&] {
        return cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode));
    });
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int flags) {
    return with_context([&] { return cudaEventCreateWithFlags(event, flags); });
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
    return with_init([&] { return cudaEventRecord(event, stream); });
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    return with_init([&] { return cudaEventRecordWithFlags(event, stream, flags); });
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
    return with_init([&] { return cudaEventQuery(event); });
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
    return with_init([&] { return cudaEventSynchronize(event); });
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
    return with_init([&] { return cudaEventDestroy(event); });
}

CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
    return with_init([&] { return cudaEventElapsedTime(milliseconds, begin, end); });
}

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned int flags) {
    return with_init([&] { return cudaGraphCreate(graph, flags); });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
    return with_init([&] { return cudaGraphDestroy(graph); });
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* executable, CUgraph graph,
                                    unsigned long long flags) {
    return with_context([&] { return cudaGraphInstantiateWithFlags(executable, graph, flags); });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec executable) {
    return with_init([&] { return cudaGraphExecDestroy(executable); });
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec executable, CUstream stream) {
    return with_context([&] { return cudaGraphUpload(executable, stream); });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    return with_context([&] { return cudaGraphLaunch(executable, stream); });
}

}  // extern "C"
#pragma GCC visibility pop
