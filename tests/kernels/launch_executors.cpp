// The conformance suite on launched kernels: on vgpu or, linked with NVIDIA's runtime, on a GPU.
#include <algorithm>
#include <stdexcept>

#include <cuda_runtime_api.h>

#include "cuda/check.hpp"
#include "kernels/launch.hpp"
#include "tests/kernels/conformance.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;

class LaunchExecutor : public Executor {
public:
    LaunchExecutor() {
        check(cudaSetDevice(0));
        check(
            cudaMallocManaged(reinterpret_cast<void**>(&arena_), arena_bytes, cudaMemAttachGlobal));
    }
    ~LaunchExecutor() override { cudaFree(arena_); }

    std::byte* allocate(std::size_t bytes) override {
        std::byte* const memory = arena_ + used_;
        used_ += (bytes + 127) / 128 * 128;
        if (used_ > arena_bytes) {
            throw std::runtime_error("the arena is full");
        }
        return memory;
    }
    void release() override { used_ = 0; }

    void reduce(ElementType type, ReduceOp op, const ReduceStep& step) override {
        ReduceArguments arguments{.count = step.count,
                                  .source_count = step.source_count,
                                  .destination_count = step.destination_count,
                                  .divisor = step.divisor};
        const std::size_t offset = step.first * size_of(type);
        const bool fits = std::max(step.source_count, step.destination_count) <= max_inline_spans;
        const void** sources = arguments.sources;
        void** destinations = arguments.destinations;
        std::uint64_t* factors = arguments.factors;
        if (!fits) {
            sources = array<const void*>(step.source_count);
            destinations = array<void*>(step.destination_count);
            factors = array<std::uint64_t>(step.source_count);
            auto* const ends = array<std::uint64_t>(1);
            ends[0] = step.count;
            arguments.factor_table = factors;
            arguments.segments = {
                .sources = sources, .destinations = destinations, .ends = ends, .count = 1};
        }
        for (std::uint32_t s = 0; s < step.source_count; ++s) {
            sources[s] = static_cast<const std::byte*>(step.sources[s]) + offset;
            factors[s] = step.factors != nullptr ? step.factors[s] : 0;
        }
        for (std::uint32_t d = 0; d < step.destination_count; ++d) {
            destinations[d] = static_cast<std::byte*>(step.destinations[d]) + offset;
        }
        launch(find_reduce_kernel(type, op), arguments, stream_, next_launch());
        stream_.synchronize();
    }

    void copy(const ReduceStep& step) override {
        CopyArguments arguments{.source = step.sources[0],
                                .destination_count = step.destination_count,
                                .bytes = step.count};
        std::copy_n(step.destinations, step.destination_count, arguments.destinations);
        launch(find_copy_kernel(), arguments, stream_, next_launch());
        stream_.synchronize();
    }

private:
    static constexpr std::size_t arena_bytes = std::size_t{96} << 20;

    template <class T>
    T* array(std::size_t count) {
        return reinterpret_cast<T*>(allocate(count * sizeof(T)));
    }

    /// Another number of blocks and threads each time.
    LaunchOptions next_launch() {
        ++launches_;
        return {.blocks = 1 + launches_ % 4, .threads = 32 * (1 + launches_ % 16)};
    }

    std::byte* arena_ = nullptr;
    std::size_t used_ = 0;
    Stream stream_{DeviceId(0)};
    unsigned launches_ = 0;
};

}  // namespace

std::vector<ExecutorChoice> conformance_executors() {
    return {{"launched", [](std::string& why_not) -> std::unique_ptr<Executor> {
                 int devices = 0;
                 if (const cudaError_t status = cudaGetDeviceCount(&devices);
                     status != cudaSuccess || devices == 0) {
                     why_not = std::string("no GPU: ") + cudaGetErrorString(status);
                     return nullptr;
                 }
                 return std::make_unique<LaunchExecutor>();
             }}};
}

}  // namespace rondo::test
