// The test kernels for vgpu: a block is one call of a host function.
#include <array>
#include <atomic>
#include <type_traits>

#include "tests/vgpu/test_kernel_bodies.hpp"
#include "vgpu/block.hpp"
#include "vgpu/kernel.hpp"

namespace test {

namespace {

class HostTestBlock {
public:
    bool leader() const { return true; }
    uint3 index() const { return info_.block_index; }
    unsigned linear_index() const {
        const uint3 at = info_.block_index;
        return (at.z * info_.grid_dim.y + at.y) * info_.grid_dim.x + at.x;
    }
    unsigned block_count() const { return info_.grid_dim.x * info_.grid_dim.y * info_.grid_dim.z; }

    template <class Function>
    void for_each(std::size_t count, Function function) const {
        for (std::size_t index = 0; index < count; ++index) {
            function(index);
        }
    }

    template <class T>
    T load(const T* address) const {
        check(address, sizeof(T), vgpu::Access::read, alignof(T));
        return *address;
    }
    template <class T>
    void store(T* address, T value) const {
        check(address, sizeof(T), vgpu::Access::write, alignof(T));
        if constexpr (std::is_integral_v<T>) {
            __atomic_store_n(address, value, __ATOMIC_RELEASE);  // the host may look already
        } else {
            *address = value;
        }
    }

    void signal(std::uint32_t* flag, std::uint32_t value) const {
        check(flag, sizeof(*flag), vgpu::Access::write, alignof(std::uint32_t));
        std::atomic_ref<std::uint32_t>(*flag).store(value, std::memory_order_release);
        vgpu::after_signal();
    }
    Outcome wait(const std::uint32_t* flag, std::uint32_t wanted, std::uint64_t timeout_ns,
                 const std::uint32_t* abort) const {
        check(flag, sizeof(*flag), vgpu::Access::read, alignof(std::uint32_t));
        const std::uint64_t deadline = timeout_ns == 0 ? 0 : vgpu::global_timer_ns() + timeout_ns;
        switch (vgpu::wait_for_flag({flag, wanted, deadline, abort})) {
            case vgpu::WaitOutcome::ready:
                return outcome_ready;
            case vgpu::WaitOutcome::timed_out:
                return outcome_timed_out;
            default:
                return outcome_aborted;
        }
    }

    std::uint32_t ticket(std::uint32_t* cursor) const {
        vgpu::preemption_point();
        return std::atomic_ref<std::uint32_t>(*cursor).fetch_add(1);
    }
    std::uint32_t* shared_words() const {
        return reinterpret_cast<std::uint32_t*>(info_.dynamic_shared);
    }
    void sync() const {}
    [[noreturn]] void fail() const { vgpu::fail_block("the test asked for it"); }

private:
    static void check(const void* address, std::size_t bytes, vgpu::Access access,
                      std::size_t alignment) {
        if (vgpu::checking()) {
            vgpu::check_access(address, bytes, access, alignment);
        }
    }

    const vgpu::BlockInfo& info_ = vgpu::current_block();
};

template <class Arguments>
void run_block(void** arguments) {
    HostTestBlock block;
    run(block, *static_cast<const Arguments*>(arguments[0]));
}

void run_sum_arguments(void** arguments) {
    const HostTestBlock block;
    auto* const target = *static_cast<std::uint32_t**>(arguments[0]);
    const auto sum = *static_cast<std::uint8_t*>(arguments[1]) +
                     *static_cast<std::uint64_t*>(arguments[2]) +
                     static_cast<std::uint64_t>(*static_cast<double*>(arguments[3]));
    block.store(target, static_cast<std::uint32_t>(sum));
}

void run_small_block(void** arguments) {
    run_block<WriteValue>(arguments);
}

const void* entry(void (*function)(void**)) {
    return reinterpret_cast<const void*>(function);
}

}  // namespace

template <class Arguments>
const void* kernel() {
    static const bool registered = [] {
        static constexpr std::size_t size = sizeof(Arguments);
        vgpu::register_kernel(entry(run_block<Arguments>), {.name = Arguments::name,
                                                            .run = run_block<Arguments>,
                                                            .argument_sizes = &size,
                                                            .argument_count = 1});
        return true;
    }();
    return registered ? entry(run_block<Arguments>) : nullptr;
}

const void* sum_arguments_kernel() {
    static const bool registered = [] {
        static constexpr std::array sizes = {sizeof(void*), sizeof(std::uint8_t),
                                             sizeof(std::uint64_t), sizeof(double)};
        vgpu::register_kernel(entry(run_sum_arguments), {.name = "sum_arguments",
                                                         .run = run_sum_arguments,
                                                         .argument_sizes = sizes.data(),
                                                         .argument_count = sizes.size()});
        return true;
    }();
    return registered ? entry(run_sum_arguments) : nullptr;
}

const void* small_block_kernel() {
    static const bool registered = [] {
        static constexpr std::size_t size = sizeof(WriteValue);
        vgpu::register_kernel(entry(run_small_block), {.name = "small_block",
                                                       .run = run_small_block,
                                                       .argument_sizes = &size,
                                                       .argument_count = 1,
                                                       .max_threads_per_block = 64});
        return true;
    }();
    return registered ? entry(run_small_block) : nullptr;
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
