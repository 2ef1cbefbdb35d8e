// The conformance suite on launched kernels, with programs of one step: on vgpu or, linked with
// NVIDIA's runtime, on a GPU.
#include <algorithm>
#include <stdexcept>

#include <cuda_runtime_api.h>

#include "cuda/check.hpp"
#include "kernels/step_program.hpp"
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
        run(type, op, step, step.first * size_of(type));
    }
    void copy(const ReduceStep& step) override {
        run(ElementType::u8, ReduceOp::sum, step, step.first);
    }
    bool copies_single_sources() const override { return true; }

private:
    static constexpr std::size_t arena_bytes = std::size_t{96} << 20;

    void run(ElementType type, ReduceOp op, const ReduceStep& step, std::size_t offset) {
        std::vector<RankPart> parts(std::max(step.source_count, step.destination_count));
        for (std::uint32_t s = 0; s < step.source_count; ++s) {
            parts[s].input = static_cast<const std::byte*>(step.sources[s]) + offset;
            parts[s].factor = step.factors != nullptr ? step.factors[s] : 0;
        }
        for (std::uint32_t d = 0; d < step.destination_count; ++d) {
            parts[d].output = static_cast<std::byte*>(step.destinations[d]) + offset;
        }
        program_.prepare(type, op, parts, step, next_launch());
        program_.launch(stream_);
        stream_.synchronize();
    }

    /// Another number of blocks and threads each time.
    LaunchOptions next_launch() {
        ++launches_;
        return {.blocks = 1 + launches_ % 4, .threads = 32 * (1 + launches_ % 16)};
    }

    std::byte* arena_ = nullptr;
    std::size_t used_ = 0;
    Stream stream_{DeviceId(0)};
    StepProgram program_{DeviceId(0)};
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
