// The test kernels for GPUs: a block is a CUDA block.
#undef NDEBUG  // the failing assertion must be there
#include <cassert>

#include <cuda/atomic>

#include "tests/vgpu/test_kernel_bodies.hpp"

namespace test {

namespace {

using Flag = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

__device__ std::uint64_t global_timer_ns() {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

class CudaTestBlock {
public:
    __device__ bool leader() const { return threadIdx.x + threadIdx.y + threadIdx.z == 0; }
    __device__ uint3 index() const { return blockIdx; }
    __device__ unsigned linear_index() const {
        return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    __device__ unsigned block_count() const { return gridDim.x * gridDim.y * gridDim.z; }

    template <class Function>
    __device__ void for_each(std::size_t count, Function function) const {
        const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
        const unsigned rank = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        for (std::size_t index = rank; index < count; index += threads) {
            function(index);
        }
    }

    template <class T>
    __device__ T load(const T* address) const {
        return *static_cast<const volatile T*>(address);
    }
    __device__ uint4 load(const uint4* address) const { return *address; }
    template <class T>
    __device__ void store(T* address, T value) const {
        *static_cast<volatile T*>(address) = value;
    }

    __device__ void signal(std::uint32_t* flag, std::uint32_t value) const {
        Flag(*flag).store(value, cuda::memory_order_release);
    }
    __device__ Outcome wait(const std::uint32_t* flag, std::uint32_t wanted,
                            std::uint64_t timeout_ns, const std::uint32_t* abort) const {
        const std::uint64_t start = global_timer_ns();
        while (std::int32_t(read(flag) - wanted) < 0) {
            if (abort != nullptr && read(abort) != 0) {
                return outcome_aborted;
            }
            if (timeout_ns != 0 && global_timer_ns() - start > timeout_ns) {
                return outcome_timed_out;
            }
        }
        return outcome_ready;
    }

    __device__ std::uint32_t ticket(std::uint32_t* cursor) const {
        return Flag(*cursor).fetch_add(1);
    }
    __device__ std::uint32_t* shared_words() const {
        extern __shared__ std::uint32_t words[];
        return words;
    }
    __device__ void sync() const { __syncthreads(); }
    __device__ void fail() const { assert(!"the test asked for it"); }

private:
    __device__ static std::uint32_t read(const std::uint32_t* flag) {
        return Flag(*const_cast<std::uint32_t*>(flag)).load(cuda::memory_order_acquire);
    }
};

template <class Arguments>
__global__ void test_kernel(Arguments arguments) {
    CudaTestBlock block;
    run(block, arguments);
}

__global__ void sum_arguments(std::uint32_t* target, std::uint8_t first, std::uint64_t second,
                              double third) {
    *target = static_cast<std::uint32_t>(first + second + static_cast<std::uint64_t>(third));
}

__global__ void __launch_bounds__(64) small_block(WriteValue arguments) {
    CudaTestBlock block;
    run(block, arguments);
}

}  // namespace

template <class Arguments>
const void* kernel() {
    return reinterpret_cast<const void*>(test_kernel<Arguments>);
}

const void* sum_arguments_kernel() {
    return reinterpret_cast<const void*>(sum_arguments);
}

const void* small_block_kernel() {
    return reinterpret_cast<const void*>(small_block);
}

cudaError_t load_all_kernels() {
    return load_kernels_of_this_file();
}

template const void* kernel<WriteValue>();
template const void* kernel<MultiplyAdd>();
template const void* kernel<CopyWords>();
template const void* kernel<VisitBlocks>();
template const void* kernel<AwaitFlag>();
template const void* kernel<SignalFlag>();
template const void* kernel<Meet>();
template const void* kernel<GridBarrier>();
template const void* kernel<RingStep>();
template const void* kernel<AppendToLog>();
template const void* kernel<TakeTicket>();
template const void* kernel<UseSharedMemory>();
template const void* kernel<FailAssertion>();
template const void* kernel<LoadPack>();

}  // namespace test
