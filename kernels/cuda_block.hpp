// The executor of device code on a real GPU: a CUDA thread block. Compiled by CUDA compilers only.
#pragma once

#include "kernels/flags.hpp"
#include "kernels/pack_codecs.hpp"

namespace rondo::kernels {

class CudaBlock {
public:
    __device__ std::uint32_t thread_rank() const { return threadIdx.x; }
    __device__ std::uint32_t size() const { return blockDim.x; }
    __device__ std::uint32_t index() const { return blockIdx.x; }
    __device__ std::uint32_t count() const { return gridDim.x; }
    __device__ void sync() const { __syncthreads(); }

    /// Spans are checked by tools of the GPU (compute-sanitizer), not by the code.
    __device__ void begin_step(const ReduceStep&, std::size_t) const {}

    template <ElementType type, ReduceOp op>
    RONDO_DEVICE void reduce(const ReduceStep& step) const {
        const PackLanes lanes(thread_rank(), size());
        ReduceLoop<PackLanes, PackCodecOf<type>, op>(lanes, step).run();
    }
    RONDO_DEVICE void copy(const ReduceStep& step) const {
        const PackLanes lanes(thread_rank(), size());
        ReduceLoop<PackLanes, PackRawCodec, ReduceOp::sum>(lanes, step).run();
    }

    /// After everything that the block's threads did before. The barrier and the release order
    /// together carry all their writes to whoever acquires the flag.
    RONDO_DEVICE void signal(std::uint32_t* flag, std::uint32_t value) const {
        sync();
        if (thread_rank() == 0) {
            store_release(flag, value);
        }
    }

    /// True when the flag was reached; then all threads see what its writer saw. Otherwise the
    /// record is written.
    RONDO_DEVICE bool wait(const FlagWait& wait, const WaitLimits& limits) const {
        bool failed = false;
        if (thread_rank() == 0) {
            std::uint64_t waited_ns = 0;
            const WaitFailure failure = poll_flag(
                wait, limits, [] { return global_timer_ns(); }, [] {}, waited_ns);
            failed = failure != WaitFailure::none;
            if (failed) {
                write_failure(limits, wait, failure, index(), waited_ns);
            }
        }
        return __syncthreads_or(failed) == 0;
    }

private:
    RONDO_DEVICE static std::uint64_t global_timer_ns() {
        std::uint64_t now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
    }
};

}  // namespace rondo::kernels
