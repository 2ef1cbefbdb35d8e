// Hostile mode: what real drivers may do to a program, each thing by itself.
// Rules: Programming Guide, "Concurrent Kernel Execution", "Lazy Loading" and "Implicit
// Synchronization".
#include <string>

#include "tests/vgpu/vgpu_fixture.hpp"

namespace test {

namespace {

constexpr std::uint64_t short_timeout_ns = 100'000'000;

class HostileTest : public VgpuTest {
protected:
    static vgpu::Options hostile() {
        return {.topology = "2",
                .hostile = true,
                .check = true,
                .resident_blocks = 32,
                .hardware_queues = 16};
    }
};

TEST_F(HostileTest, blocks_queue_for_a_place_and_all_run) {
    vgpu::Options options = hostile();
    options.resident_blocks = 2;
    start(options);
    const DeviceWords visits(50);
    EXPECT_EQ(launch(VisitBlocks{visits.data()}, nullptr, {dim3(50)}), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const auto seen = visits.read();
    for (std::uint32_t block = 0; block < 50; ++block) {
        EXPECT_EQ(seen[block], 1 + block);
    }
}

TEST_F(HostileTest, a_kernel_waits_until_the_blocks_of_another_leave_their_places) {
    vgpu::Options options = hostile();
    options.resident_blocks = 1;
    start(options);
    const PinnedWords words(2);
    const Stream first;
    const Stream second;
    Gate gate;
    gate.close(first);
    ASSERT_TRUE(gate.reached());
    EXPECT_EQ(launch(WriteValue{words.device_data(), 1}, second), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
    EXPECT_TRUE(eventually([] {
        return vgpu::describe_state().find("place") != std::string::npos;
    })) << vgpu::describe_state();
    EXPECT_EQ(words.load(), 0u);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(words.load(), 1u);
}

TEST_F(HostileTest, occupancy_tells_the_limited_residency) {
    vgpu::Options options = hostile();
    options.resident_blocks = 4;
    start(options);
    int per_multiprocessor = 0;
    int multiprocessors = 0;
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor,
                                                          kernel<GridBarrier>(), 32, 0));
    require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    EXPECT_LE(per_multiprocessor * multiprocessors, 4) << "what a cooperative launch may count on";
    GridBarrier arguments{};
    void* pointers[] = {&arguments};
    EXPECT_EQ(
        cudaLaunchCooperativeKernel(kernel<GridBarrier>(), dim3(5), dim3(32), pointers, 0, nullptr),
        cudaErrorCooperativeLaunchTooLarge);
}

// A cooperative kernel gets all its places at once, so two of them never share the device half and
// half.
TEST_F(HostileTest, two_cooperative_kernels_that_fit_only_one_after_the_other_finish) {
    vgpu::Options options = hostile();
    options.resident_blocks = 4;
    start(options);
    const DeviceWords flags(10);
    const DeviceWords outcomes(8);
    const Stream streams[2];
    for (int index = 0; index < 2; ++index) {
        GridBarrier arguments{flags.data() + 5 * index, outcomes.data() + 4 * index, 0};
        void* pointers[] = {&arguments};
        ASSERT_EQ(cudaLaunchCooperativeKernel(kernel<GridBarrier>(), dim3(4), dim3(1), pointers, 0,
                                              streams[index]),
                  cudaSuccess);
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << vgpu::last_report();
    EXPECT_THAT(outcomes.read(), testing::Each(outcome_ready));
}

// With one hardware queue a stream stands behind work of another stream that cannot start yet.
TEST_F(HostileTest, streams_that_share_a_hardware_queue_have_false_dependencies) {
    vgpu::Options options = hostile();
    options.hardware_queues = 1;
    start(options);
    const PinnedWords words(2);
    const Stream first;
    const Stream second;
    Gate gate;
    gate.close(first);
    ASSERT_TRUE(gate.reached());
    EXPECT_EQ(launch(WriteValue{words.device_data(), 1}, first), cudaSuccess)
        << "can't start: behind the gate";
    EXPECT_EQ(launch(WriteValue{words.device_data() + 1, 1}, second), cudaSuccess)
        << "could start, but is behind that";
    {
        const CurrentDevice current(1);  // time in which the second stream would have run
        for (int round = 0; round < 100; ++round) {
            require(launch(SignalFlag{words.device_data(), 0}, nullptr));
            require(cudaDeviceSynchronize());
        }
    }
    EXPECT_EQ(words.load(1), 0u);
    EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(words.load(1), 1u);
}

TEST_F(HostileTest, with_a_queue_for_each_stream_they_run_beside_each_other) {
    start(hostile());
    const PinnedWords word;
    const Stream first;
    const Stream second;
    Gate gate;
    gate.close(first);
    ASSERT_TRUE(gate.reached());
    EXPECT_EQ(launch(WriteValue{word.device_data(), 1}, second), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(word.load(), 1u);
    gate.open();
}

/// A kernel waits for a flag that a second kernel, launched later, sets. What did the first one
/// see?
std::uint32_t wait_for_a_later_launch() {
    const DeviceWords words(2);
    const Stream first;
    const Stream second;
    const AwaitFlag waiting{
        .flag = words.data(), .outcome = words.data() + 1, .timeout_ns = short_timeout_ns};
    EXPECT_EQ(launch(waiting, first), cudaSuccess);
    EXPECT_EQ(launch(SignalFlag{words.data(), 1}, second), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return words.read(1);
}

// "Lazy Loading", "Concurrent Execution": loading a kernel "might require context synchronization";
// a program that waits for a kernel that is not loaded yet hangs. The remedy is to load before
// ("preload all kernels").
TEST_F(HostileTest, the_first_launch_of_a_kernel_waits_for_the_device) {
    start(hostile(), 0);
    EXPECT_EQ(wait_for_a_later_launch(), outcome_timed_out);
    EXPECT_EQ(wait_for_a_later_launch(), outcome_ready) << "it is loaded now";
}

TEST_F(HostileTest, a_kernel_that_was_loaded_before_does_not_wait) {
    start(hostile());
    EXPECT_EQ(wait_for_a_later_launch(), outcome_ready);
}

TEST_F(HostileTest, kernels_are_loaded_for_each_device) {
    start(hostile(), 1);
    EXPECT_EQ(wait_for_a_later_launch(), outcome_ready);
    require(cudaSetDevice(1));
    EXPECT_EQ(wait_for_a_later_launch(), outcome_timed_out);
}

// cudaFree "may perform implicit synchronization": here it does, for the whole device.
TEST_F(HostileTest, free_waits_for_the_device) {
    start(hostile());
    const PinnedWords words(2);
    const Stream stream;
    void* unrelated = nullptr;
    require(cudaMalloc(&unrelated, 64));
    ASSERT_EQ(launch(AwaitFlag{.flag = words.device_data(),
                               .outcome = words.device_data() + 1,
                               .timeout_ns = short_timeout_ns},
                     stream),
              cudaSuccess);
    EXPECT_EQ(cudaFree(unrelated), cudaSuccess);
    EXPECT_EQ(words.load(1), outcome_timed_out) << "the kernel has ended when cudaFree returns";
}

TEST_F(HostileTest, stream_ordered_free_does_not_wait) {
    start(hostile());
    const Stream busy;
    const Stream stream;
    void* unrelated = nullptr;
    require(cudaMallocAsync(&unrelated, 64, stream));
    require(cudaStreamSynchronize(stream));
    Gate gate;
    gate.close(busy);
    EXPECT_EQ(cudaFreeAsync(unrelated, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(busy), cudaErrorNotReady);
    gate.open();
}

}  // namespace

}  // namespace test
