// Kernel launches: configurations, arguments, order, concurrency, cooperation, occupancy.
// Rules: CUDA Runtime API, "Execution Control" and "Occupancy"; Programming Guide, "Cooperative
// Groups".
#include <array>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using LaunchTest = CudaTest;
using ConcurrentLaunchTest = ConcurrentTest;

int attribute(cudaDeviceAttr name) {
    int value = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, name, 0), cudaSuccess);
    return value;
}

template <class Arguments>
int resident_blocks_per_multiprocessor(int threads, std::size_t shared_bytes = 0) {
    int blocks = -1;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<Arguments>(), threads,
                                                            shared_bytes),
              cudaSuccess);
    return blocks;
}

template <class Arguments>
cudaError_t launch_cooperative(Arguments arguments, dim3 grid, dim3 block, cudaStream_t stream) {
    void* pointers[] = {&arguments};
    return cudaLaunchCooperativeKernel(kernel<Arguments>(), grid, block, pointers, 0, stream);
}

// cudaLaunchKernel: "gridDim.x x gridDim.y x gridDim.z grid of blocks", each run once with its own
// index.
TEST_F(LaunchTest, every_block_of_a_three_dimensional_grid_runs_once) {
    const dim3 grid(5, 4, 3);
    const DeviceWords visits(5 * 4 * 3);
    EXPECT_EQ(launch(VisitBlocks{visits.data()}, nullptr, {grid}), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const auto seen = visits.read();
    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                EXPECT_EQ(seen[(z * grid.y + y) * grid.x + x], 1 + x + 100 * y + 10000 * z);
            }
        }
    }
}

// More blocks than fit at a time run one after another.
TEST_F(LaunchTest, a_grid_larger_than_the_device_runs_completely) {
    constexpr unsigned blocks = 20'000;
    const DeviceWords visits(blocks);
    EXPECT_EQ(launch(VisitBlocks{visits.data()}, nullptr, {dim3(blocks), dim3(64)}), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const auto seen = visits.read();
    for (unsigned block = 0; block < blocks; ++block) {
        ASSERT_EQ(seen[block], 1 + block);
    }
}

TEST_F(LaunchTest, blocks_and_threads_share_the_work) {
    constexpr std::size_t count = 100'003;
    const DeviceWords source(count);
    const DeviceWords target(count);
    source.write(std::vector<std::uint32_t>(count, 40));
    EXPECT_EQ(
        launch(CopyWords{target.data(), source.data(), count, 2}, nullptr, {dim3(7), dim3(128)}),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(target.read(), testing::Each(42));
}

// cudaErrorInvalidConfiguration: "a kernel launch is requesting resources that can never be
// satisfied by the current device ... such as ... too many threads or blocks"; zero too.
TEST_F(LaunchTest, impossible_shapes_are_invalid_configuration) {
    const DeviceWords word;
    const Shape shapes[] = {
        {dim3(0), dim3(1)},        {dim3(1, 0), dim3(1)},     {dim3(1), dim3(0)},
        {dim3(1), dim3(1, 0)},     {dim3(1), dim3(1025)},     {dim3(1), dim3(33, 32)},
        {dim3(1), dim3(1, 1, 65)}, {dim3(1, 65536), dim3(1)}, {dim3(1, 1, 65536), dim3(1)},
    };
    for (const Shape& shape : shapes) {
        EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr, shape), cudaErrorInvalidConfiguration)
            << "grid " << shape.grid.x << " " << shape.grid.y << " " << shape.grid.z << ", block "
            << shape.block.x << " " << shape.block.y << " " << shape.block.z;
    }
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(WriteValue{word.data(), 2}, nullptr, {dim3(1), dim3(32, 32)}), cudaSuccess)
        << "1024 threads";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 2u);
}

// Programming Guide, "Launch Bounds": "A kernel will fail to launch if it is executed with more
// threads per block than its launch bound maxThreadsPerBlock".
TEST_F(LaunchTest, a_kernel_with_launch_bounds_does_not_take_larger_blocks) {
    const DeviceWords word;
    WriteValue arguments{word.data(), 3};
    void* pointers[] = {&arguments};
    EXPECT_NE(cudaLaunchKernel(small_block_kernel(), dim3(1), dim3(65), pointers, 0, nullptr),
              cudaSuccess);
    EXPECT_NE(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaLaunchKernel(small_block_kernel(), dim3(1), dim3(64), pointers, 0, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 3u);
}

// cudaLaunchKernel: "sharedMem sets the amount of dynamic shared memory that will be available to
// each thread block".
TEST_F(LaunchTest, dynamic_shared_memory_is_there) {
    constexpr std::uint32_t words = 1000;
    const DeviceWords target;
    EXPECT_EQ(launch(UseSharedMemory{target.data(), words}, nullptr,
                     {.block = dim3(64), .shared_bytes = words * 4}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(target.read(0), words * (words - 1) / 2);
}

// cudaFuncAttributeMaxDynamicSharedMemorySize: more than the default limit must be asked for; the
// limit of the device, cudaDevAttrMaxSharedMemoryPerBlockOptin, stands.
TEST_F(LaunchTest, large_shared_memory_needs_the_function_attribute) {
    const auto limit = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
    const auto opt_in =
        static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    const DeviceWords target;
    const UseSharedMemory arguments{target.data(), 10};
    const void* const entry = kernel<UseSharedMemory>();
    EXPECT_EQ(launch(arguments, nullptr, {.shared_bytes = limit + 1}), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(opt_in) + 1),
              cudaErrorInvalidValue);
    cudaGetLastError();
    if (opt_in > limit) {
        EXPECT_EQ(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(opt_in)),
                  cudaSuccess);
        EXPECT_EQ(launch(arguments, nullptr, {.shared_bytes = opt_in}), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(target.read(0), 45u);
        const int before = static_cast<int>(limit);
        EXPECT_EQ(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, before),
                  cudaSuccess);
    }
}

// cudaErrorInvalidDeviceFunction: "The requested device function does not exist".
TEST_F(LaunchTest, a_null_function_is_invalid_device_function) {
    EXPECT_EQ(
        cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), nullptr, 0, nullptr),
        cudaErrorInvalidDeviceFunction);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

// cudaLaunchKernel: "args should point to array of N pointers", each to "the region of memory from
// which the actual parameter will be copied": of any size, and copied during the call.
TEST_F(LaunchTest, several_arguments_of_different_size_are_passed) {
    const DeviceWords target;
    std::uint32_t* pointer = target.data();
    std::uint8_t first = 200;
    std::uint64_t second = 3000;
    double third = 40'000.0;
    void* arguments[] = {&pointer, &first, &second, &third};
    EXPECT_EQ(cudaLaunchKernel(sum_arguments_kernel(), dim3(1), dim3(1), arguments, 0, nullptr),
              cudaSuccess);
    first = 0;
    second = 0;
    third = 0;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(target.read(0), 43'200u);
}

TEST_F(LaunchTest, arguments_are_copied_when_the_kernel_is_launched_not_when_it_runs) {
    const DeviceWords target;
    const Stream stream;
    Gate gate;
    gate.close(stream);
    WriteValue arguments{target.data(), 11};
    void* pointers[] = {&arguments};
    EXPECT_EQ(cudaLaunchKernel(kernel<WriteValue>(), dim3(1), dim3(1), pointers, 0, stream),
              cudaSuccess);
    arguments = {};
    pointers[0] = nullptr;
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(target.read(0), 11u);
}

// A launch "is asynchronous with respect to the host".
TEST_F(LaunchTest, a_launch_returns_before_the_kernel_ends) {
    const Stream stream;
    Gate gate;
    gate.close(stream);
    EXPECT_TRUE(gate.reached());
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(gate.passed());
}

// Programming Guide, "Concurrent Kernel Execution": kernels of different streams run at a time.
TEST_F(ConcurrentLaunchTest, kernels_of_two_streams_that_wait_for_each_other_finish) {
    const DeviceWords words(4);
    const Stream first;
    const Stream second;
    EXPECT_EQ(launch(Meet{words.data(), words.data() + 1, words.data() + 2}, first), cudaSuccess);
    EXPECT_EQ(launch(Meet{words.data() + 1, words.data(), words.data() + 3}, second), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(2), outcome_ready);
    EXPECT_EQ(words.read(3), outcome_ready);
}

TEST_F(ConcurrentLaunchTest, a_kernel_waits_for_a_copy_in_another_stream) {
    const DeviceWords words(2);
    const PinnedWords one;
    const Stream waiting;
    const Stream copying;
    one.store(1);
    EXPECT_EQ(launch(AwaitFlag{.flag = words.data(), .outcome = words.data() + 1}, waiting),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(words.data(), one.data(), 4, cudaMemcpyHostToDevice, copying),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(1), outcome_ready);
}

// A wait inside a kernel ends at its deadline: nothing hangs.
TEST_F(LaunchTest, a_wait_for_a_flag_that_never_comes_ends_at_its_deadline) {
    const DeviceWords words(2);
    EXPECT_EQ(
        launch(
            AwaitFlag{.flag = words.data(), .outcome = words.data() + 1, .timeout_ns = 2'000'000},
            nullptr),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(1), outcome_timed_out);
}

TEST_F(LaunchTest, a_wait_ends_when_the_host_sets_the_abort_flag) {
    const PinnedWords abort;
    const DeviceWords words(2);
    const Stream stream;
    EXPECT_EQ(launch(AwaitFlag{.flag = words.data(),
                               .outcome = words.data() + 1,
                               .abort = abort.device_data()},
                     stream),
              cudaSuccess);
    abort.store(1);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(words.read(1), outcome_aborted);
}

// Flags that wrap around 2^32 still compare right.
TEST_F(LaunchTest, a_flag_just_past_the_wrap_satisfies_a_wait_for_a_value_before_it) {
    const DeviceWords words(2);
    words.write({5, 0});
    EXPECT_EQ(
        launch(AwaitFlag{.flag = words.data(), .wanted = 0xFFFFFFFFu, .outcome = words.data() + 1},
               nullptr),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(1), outcome_ready);
}

// cudaLaunchKernelExC: like cudaLaunchKernel, configured by a struct.
TEST_F(LaunchTest, launch_ex_takes_shape_stream_and_shared_memory_from_the_configuration) {
    const DeviceWords words(10);
    const Stream stream;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(9);
    config.blockDim = dim3(32);
    config.stream = stream;
    VisitBlocks arguments{words.data()};
    void* pointers[] = {&arguments};
    EXPECT_EQ(cudaLaunchKernelExC(&config, kernel<VisitBlocks>(), pointers), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(words.read(), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 0));
    config.blockDim = dim3(0);
    EXPECT_EQ(cudaLaunchKernelExC(&config, kernel<VisitBlocks>(), pointers),
              cudaErrorInvalidConfiguration);
    config.blockDim = dim3(1);
    EXPECT_EQ(cudaLaunchKernelExC(&config, nullptr, pointers), cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
}

// Programming Guide, "Grid Synchronization": all blocks of a cooperative launch are resident, so
// they can wait for each other, up to what the occupancy allows.
TEST_F(LaunchTest, the_largest_cooperative_grid_can_synchronise) {
    const int per_multiprocessor = resident_blocks_per_multiprocessor<GridBarrier>(256);
    ASSERT_GE(per_multiprocessor, 1);
    const auto blocks =
        static_cast<unsigned>(per_multiprocessor * attribute(cudaDevAttrMultiProcessorCount));
    const DeviceWords flags(blocks + 1);
    const DeviceWords outcomes(blocks);
    EXPECT_EQ(launch_cooperative(GridBarrier{flags.data(), outcomes.data()}, dim3(blocks),
                                 dim3(256), nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(outcomes.read(), testing::Each(outcome_ready));
}

// cudaErrorCooperativeLaunchTooLarge: "the number of blocks launched per grid for a kernel ...
// exceeds the maximum number of blocks as allowed by cudaOccupancyMaxActiveBlocksPerMultiprocessor
// ... times the number of multiprocessors".
TEST_F(LaunchTest, one_block_more_is_cooperative_launch_too_large) {
    const auto blocks = static_cast<unsigned>(resident_blocks_per_multiprocessor<GridBarrier>(256) *
                                              attribute(cudaDevAttrMultiProcessorCount));
    EXPECT_EQ(launch_cooperative(GridBarrier{}, dim3(blocks + 1), dim3(256), nullptr),
              cudaErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    GridBarrier arguments{};
    void* pointers[] = {&arguments};
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks + 1);
    config.blockDim = dim3(256);
    config.attrs = &cooperative;
    config.numAttrs = 1;
    EXPECT_EQ(cudaLaunchKernelExC(&config, kernel<GridBarrier>(), pointers),
              cudaErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(LaunchTest, the_cooperative_attribute_makes_a_launch_cooperative) {
    const DeviceWords flags(5);
    const DeviceWords outcomes(4);
    GridBarrier arguments{flags.data(), outcomes.data()};
    void* pointers[] = {&arguments};
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(4);
    config.blockDim = dim3(64);
    config.attrs = &cooperative;
    config.numAttrs = 1;
    EXPECT_EQ(cudaLaunchKernelExC(&config, kernel<GridBarrier>(), pointers), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(outcomes.read(), testing::Each(outcome_ready));
}

// cudaOccupancyMaxActiveBlocksPerMultiprocessor: limited by threads and by shared memory.
TEST_F(LaunchTest, occupancy_follows_the_limits_of_the_multiprocessor) {
    const int threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    const int at_1024 = resident_blocks_per_multiprocessor<WriteValue>(1024);
    EXPECT_GE(at_1024, 1);
    EXPECT_LE(at_1024, threads / 1024);
    EXPECT_LE(resident_blocks_per_multiprocessor<WriteValue>(256), threads / 256);
    EXPECT_GE(resident_blocks_per_multiprocessor<WriteValue>(256), at_1024);
    const auto half =
        static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / 2;
    const auto limit = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
    EXPECT_LE(resident_blocks_per_multiprocessor<WriteValue>(32, std::min(half, limit)),
              static_cast<int>(2 * half / std::min(half, limit)));
}

TEST_F(LaunchTest, occupancy_of_nothing_is_an_error) {
    int blocks = 0;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<WriteValue>(), 0, 0),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 32, 0),
              cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
}

// cudaFuncGetAttributes: what the compiler and the device say about a kernel.
TEST_F(LaunchTest, function_attributes_tell_the_limits_of_the_kernel) {
    cudaFuncAttributes attributes{};
    EXPECT_EQ(cudaFuncGetAttributes(&attributes, kernel<WriteValue>()), cudaSuccess);
    EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
    EXPECT_GT(attributes.numRegs, 0);
    EXPECT_EQ(cudaFuncGetAttributes(&attributes, small_block_kernel()), cudaSuccess);
    EXPECT_EQ(attributes.maxThreadsPerBlock, 64);
    EXPECT_EQ(cudaFuncGetAttributes(&attributes, nullptr), cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
}

}  // namespace

}  // namespace test
