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
        std::uint64_t waited_ns = 0;
        const WaitFailure failure =
            thread_rank() == 0 ? poll(wait, limits, waited_ns) : WaitFailure::none;
        if (failure != WaitFailure::none) {
            write_failure(limits, wait, failure, index(), waited_ns);
        }
        return __syncthreads_or(failure != WaitFailure::none) == 0;
    }

    /// The calling thread's own writes become visible with the flag; no other thread takes part.
    RONDO_DEVICE void post(std::uint32_t* flag, std::uint32_t value) const {
        store_release(flag, value);
    }

    /// Waits for flag_of(0) to flag_of(count - 1), each by a thread of its own.
    template <class FlagOf>
    RONDO_DEVICE bool wait_all(std::uint32_t count, FlagOf flag_of,
                               const WaitLimits& limits) const {
        std::uint64_t waited_ns = 0;
        bool failed = false;
        for (std::uint32_t i = thread_rank(); i < count && !failed; i += size()) {
            failed = poll(flag_of(i), limits, waited_ns) != WaitFailure::none;
        }
        if (__syncthreads_or(failed) == 0) {
            return true;
        }
        if (thread_rank() == 0) {
            write_first_failure(limits, count, flag_of, index(), waited_ns);
        }
        return false;
    }

    /// True for all threads when it is for one. Also a sync().
    RONDO_DEVICE bool any(bool value) const { return __syncthreads_or(value) != 0; }

    /// For executors that check accesses of single threads.
    RONDO_DEVICE void expect_access(const void*, std::size_t) const {}

private:
    RONDO_DEVICE static WaitFailure poll(const FlagWait& wait, const WaitLimits& limits,
                                         std::uint64_t& waited_ns) {
        return poll_flag(
            wait, limits, [] { return global_timer_ns(); }, [] {}, waited_ns);
    }

    RONDO_DEVICE static std::uint64_t global_timer_ns() {
        std::uint64_t now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
    }
};

}  // namespace rondo::kernels
