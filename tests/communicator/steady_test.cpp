// A call that was made before allocates nothing: neither in the library nor on a device.
#include <cstdlib>
#include <new>

#include "tests/communicator/fixture.hpp"
#include "tests/communicator/test_memory.hpp"
#include "vgpu/control.hpp"

// The compiler sees free() behind new and does not know that both are replaced here.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {

thread_local bool inside_runtime = false;
thread_local std::uint64_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
    if (!inside_runtime) ++allocations;
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

// The runtime below (vgpu) allocates for itself; what the library does is what counts. The linker
// leads the library's calls here (--wrap).
#define RONDO_WRAP(name, parameters, arguments)                  \
    extern "C" cudaError_t __real_##name parameters;             \
    extern "C" cudaError_t __wrap_##name parameters {            \
        const bool before = std::exchange(inside_runtime, true); \
        const cudaError_t status = __real_##name arguments;      \
        inside_runtime = before;                                 \
        return status;                                           \
    }
RONDO_WRAP(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** list),
           (config, kernel, list))
RONDO_WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
RONDO_WRAP(cudaEventSynchronize, (cudaEvent_t event), (event))
RONDO_WRAP(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
           (stream, event, flags))
RONDO_WRAP(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* capture),
           (stream, capture))
RONDO_WRAP(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* pointer),
           (attributes, pointer))
RONDO_WRAP(cudaMemcpyAsync,
           (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
           (to, from, bytes, kind, stream))
RONDO_WRAP(cudaMallocFromPoolAsync,
           (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
           (pointer, bytes, pool, stream))
RONDO_WRAP(cudaFreeAsync, (void* pointer, cudaStream_t stream), (pointer, stream))
RONDO_WRAP(cudaStreamGetFlags, (cudaStream_t stream, unsigned* flags), (stream, flags))
RONDO_WRAP(cudaGetDevice, (int* device), (device))
RONDO_WRAP(cudaSetDevice, (int device), (device))

namespace rondo::test {
namespace {

TEST(SteadyState, ARepeatedCallAllocatesNothing) {
    Communicator comm = Communicator::create(options_of(4));
    const PerReplica<float> large = ramp(4, 100000);
    const PerReplica<float> small = ramp(4, 100);
    // Peers can't map these: stand-ins are used.
    TestMemory pools(MemorySource::closed_pool);
    std::vector<Tensor<float>> tensors;
    for (int rank = 0; rank < 4; ++rank) {
        auto* const data = reinterpret_cast<float*>(pools.allocate(rank, 100000 * sizeof(float)));
        tensors.emplace_back(rank, data, 100000);
    }
    const PerReplica<float> hidden(tensors);
    const auto call_all = [&] {
        for (const PerReplica<float>& value :
             {std::cref(large), std::cref(small), std::cref(hidden)}) {
            for (const Strategy& strategy : {Strategy(), Strategy::ring(), Strategy::tree(2)}) {
                comm.all_reduce(ReduceOp::max, value, {.strategy = strategy}).wait();
            }
        }
    };
    for (int warm_up = 0; warm_up < 3; ++warm_up) call_all();
    const std::uint64_t host_before = allocations;
    const vgpu::Counters before = vgpu::counters();
    for (int repeat = 0; repeat < 20; ++repeat) call_all();
    EXPECT_EQ(allocations, host_before);
    const vgpu::Counters after = vgpu::counters();
    EXPECT_EQ(after.live_allocations, before.live_allocations);
    EXPECT_EQ(after.live_events, before.live_events);
    EXPECT_EQ(after.launches - before.launches, 20u * 9 * 4);  // one per GPU and call
    for (const Tensor<float>& tensor : tensors) expect_success(cudaFree(tensor.data()));
    const std::string probe(100 + host_before % 2, 'x');
    EXPECT_GE(probe.size(), 100u);
    EXPECT_GT(allocations, host_before);  // the counter counts
}

}  // namespace
}  // namespace rondo::test
