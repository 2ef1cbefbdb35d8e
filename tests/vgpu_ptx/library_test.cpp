// The kernel that ships: PTX that nvcc makes of kernels/cuda, run by the engine in vgpu's fibers,
// carries out collectives of several devices that signal each other.
#include <cuda_runtime_api.h>

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include <gmock/gmock.h>

#include "kernels/kernels.hpp"
#include "kernels/program.hpp"
#include "rondo/communicator.hpp"
#include "vgpu/block.hpp"
#include "vgpu/control.hpp"
#include "vgpu/kernel.hpp"
#include "vgpu/ptx/engine.hpp"

namespace vgpu::ptx::test {
namespace {

/// All addresses are allowed: vgpu's own checks have other tests.
class OpenMemory final : public DeviceMemory {
public:
    void* allocate(int, std::size_t bytes, std::size_t, std::string_view) override {
        return ::operator new(bytes);
    }
    void release(int, void* memory) override { ::operator delete(memory); }
    bool resolve(int, std::uintptr_t address, MemoryRange& range) override {
        range = {4096, std::uintptr_t{1} << 62, true};
        return address >= 4096;
    }
    const std::atomic<std::uint64_t>& changes() const override { return changes_; }
    std::string explain(int, std::uintptr_t, std::size_t) override { return "a null pointer"; }

private:
    std::atomic<std::uint64_t> changes_{0};
};

class FiberHooks final : public Hooks {
public:
    void yield() override { yield_block(); }
    void preemption_point() override { vgpu::preemption_point(); }
    std::uint64_t global_timer_ns() override { return vgpu::global_timer_ns(); }
    void print(std::string_view) override {}
};

struct Engine {
    std::vector<std::string> texts;
    std::shared_ptr<Module> module;
    OpenMemory memory;
    std::shared_ptr<Image> image;
    std::atomic<std::uint64_t> blocks{0};
};

Engine& engine() {
    static Engine* const only = [] {
        auto* const made = new Engine;  // as long as the program
        for (const char* const name : {"program_floats.ptx", "program_integers.ptx"}) {
            std::ifstream file(std::string(PTX_FOLDER) + "/" + name);
            std::ostringstream text;
            text << file.rdbuf();
            made->texts.push_back(text.str());
        }
        const std::vector<std::string_view> views(made->texts.begin(), made->texts.end());
        made->module = Module::load(views);
        made->image = made->module->place(0, made->memory);
        return made;
    }();
    return *only;
}

void run_block(void** arguments) {
    const BlockInfo& info = current_block();
    Engine& all = engine();
    const Kernel& kernel = all.module->kernel(info.kernel);
    FiberHooks hooks;
    BlockContext context;
    context.grid = {info.grid_dim.x, info.grid_dim.y, info.grid_dim.z};
    context.block = {info.block_dim.x, info.block_dim.y, info.block_dim.z};
    context.block_index = {info.block_index.x, info.block_index.y, info.block_index.z};
    context.device = info.device;
    context.parameters = {static_cast<const std::byte*>(arguments[0]),
                          sizeof(rondo::kernels::ProgramArguments)};
    context.dynamic_shared_bytes = info.dynamic_shared_bytes;
    context.image = all.image.get();
    context.memory = &all.memory;
    context.hooks = &hooks;
    context.seed = vgpu::options().seed.value_or(0);
    kernel.run_block(context);
    ++all.blocks;
}

/// From now on launches of the pair's kernel run the PTX.
void use_ptx(rondo::ElementType type, rondo::ReduceOp op) {
    const auto kernel = rondo::kernels::find_program_kernel(type, op);
    static const std::size_t bytes = sizeof(rondo::kernels::ProgramArguments);
    register_kernel(kernel.entry, {.name = kernel.name,
                                   .run = &run_block,
                                   .argument_sizes = &bytes,
                                   .argument_count = 1,
                                   .max_threads_per_block = 512});
}

template <class T>
void sum_of_ranks(int ranks, std::size_t count, const rondo::Strategy& strategy) {
    vgpu::Options machine = vgpu::Options::from_environment();
    machine.topology = std::to_string(ranks);
    reset(machine);
    use_ptx(rondo::element_type_of<T>, rondo::ReduceOp::sum);
    const std::uint64_t before = engine().blocks;
    auto comm = rondo::Communicator::create();
    std::vector<rondo::Tensor<T>> tensors;
    std::vector<T> host(count);
    for (int rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < count; ++i)
            host[i] = static_cast<T>(i % 100 + 1000 * static_cast<std::size_t>(rank));
        tensors.push_back(rondo::Tensor<T>::allocate(rank, count));
        cudaMemcpy(tensors.back().data(), host.data(), count * sizeof(T), cudaMemcpyDefault);
    }
    for (int call = 1; call <= 2; ++call) {
        comm.all_reduce(rondo::ReduceOp::sum, rondo::PerReplica<T>(tensors), {.strategy = strategy})
            .wait();
    }
    const auto n = static_cast<std::size_t>(ranks);
    for (const auto& tensor : tensors) {
        cudaMemcpy(host.data(), tensor.data(), count * sizeof(T), cudaMemcpyDefault);
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(host[i], static_cast<T>(n * (n * (i % 100) + 1000 * (n * (n - 1) / 2)))) << i;
    }
    EXPECT_GE(engine().blocks - before, 2 * n);
}

TEST(LibraryTest, SumsFloatsOfTwo) {
    sum_of_ranks<float>(2, 1000, rondo::Strategy::direct());
}
TEST(LibraryTest, SumsFloatsInARing) {
    sum_of_ranks<float>(4, 5003, rondo::Strategy::ring());
}
TEST(LibraryTest, SumsDoublesInATree) {
    sum_of_ranks<double>(3, 1024, rondo::Strategy::tree(2));
}
TEST(LibraryTest, SumsIntegersOfEight) {
    sum_of_ranks<std::int32_t>(8, 777, rondo::Strategy::direct());
}
TEST(LibraryTest, SumsOneElement) {
    sum_of_ranks<std::int64_t>(5, 1, rondo::Strategy::ring());
}

}  // namespace
}  // namespace vgpu::ptx::test
