// Faults on request: failing calls, lost devices, cut and slow links, late and stopped blocks.
#include <string>

#include "tests/vgpu/vgpu_fixture.hpp"

namespace test {

namespace {

using FaultTest = VgpuTest;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(FaultTest, the_kth_call_of_a_function_fails_and_no_other) {
    vgpu::fail_call("cudaMalloc", 3, cudaErrorMemoryAllocation);
    const std::uint64_t before = vgpu::counters().live_allocations;
    std::vector<cudaError_t> results;
    std::vector<void*> pointers;
    for (int call = 0; call < 5; ++call) {
        void* pointer = nullptr;
        results.push_back(cudaMalloc(&pointer, 64));
        pointers.push_back(pointer);
    }
    EXPECT_THAT(results, testing::ElementsAre(cudaSuccess, cudaSuccess, cudaErrorMemoryAllocation,
                                              cudaSuccess, cudaSuccess));
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(vgpu::counters().live_allocations, before + 4) << "the failed call did nothing";
    EXPECT_EQ(pointers[2], nullptr);
    for (void* pointer : pointers) {
        EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    }
}

TEST_F(FaultTest, several_functions_can_be_told_to_fail) {
    vgpu::fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
    vgpu::fail_call("cudaEventCreateWithFlags", 1, cudaErrorUnknown);
    vgpu::fail_call("cudaMalloc", 2, cudaErrorLaunchFailure);
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, 0), cudaErrorUnknown);
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 8), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&pointer, 8), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaMalloc(&pointer, 8), cudaSuccess);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    cudaGetLastError();
}

TEST_F(FaultTest, a_launch_that_fails_runs_nothing) {
    const DeviceWords word;
    vgpu::fail_call("cudaLaunchKernel", 1, cudaErrorLaunchOutOfResources);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr), cudaErrorLaunchOutOfResources);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchOutOfResources);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 0u);
}

/// What a program does, call by call; stops at the first failure.
std::vector<cudaError_t> short_program() {
    std::vector<cudaError_t> results;
    void* pointer = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    const auto step = [&](cudaError_t status) {
        results.push_back(status);
        return status == cudaSuccess;
    };
    static_cast<void>(step(cudaMalloc(&pointer, 64)) && step(cudaStreamCreate(&stream)) &&
                      step(cudaEventCreate(&event)) &&
                      step(cudaMemsetAsync(pointer, 0, 64, stream)) &&
                      step(launch(WriteValue{static_cast<std::uint32_t*>(pointer), 1}, stream)) &&
                      step(cudaEventRecord(event, stream)) && step(cudaEventSynchronize(event)) &&
                      step(cudaStreamSynchronize(stream)));
    vgpu::fail_any_call(0, cudaSuccess);
    if (event != nullptr) cudaEventDestroy(event);
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaFree(pointer);
    cudaGetLastError();
    return results;
}

TEST_F(FaultTest, every_call_of_a_program_can_be_made_to_fail_in_turn) {
    const std::size_t calls = short_program().size();
    ASSERT_EQ(calls, 8u);
    const std::uint64_t live = vgpu::counters().live_allocations;
    for (std::size_t kth = 1; kth <= calls; ++kth) {
        vgpu::fail_any_call(kth, cudaErrorUnknown);
        const auto results = short_program();
        ASSERT_EQ(results.size(), kth);
        EXPECT_EQ(results.back(), cudaErrorUnknown);
    }
    vgpu::fail_any_call(calls + 1, cudaErrorUnknown);
    EXPECT_THAT(short_program(), testing::Each(cudaSuccess));
    EXPECT_EQ(vgpu::counters().live_allocations, live);
    EXPECT_EQ(vgpu::counters().live_streams, 0u);
    EXPECT_EQ(vgpu::counters().live_events, 0u);
}

TEST_F(FaultTest, clear_faults_forgets_all_of_them) {
    vgpu::fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
    vgpu::fail_any_call(1, cudaErrorUnknown);
    vgpu::kill_block({}, 0);
    vgpu::cut_link(0, 1);
    vgpu::clear_faults();
    enable_peers(0, 1);
    const DeviceWords word;
    require(cudaSetDevice(1));
    EXPECT_EQ(launch(WriteValue{word.data(), 3}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 3u);
}

TEST_F(FaultTest, every_call_for_a_lost_device_is_devices_unavailable) {
    const DeviceWords word;
    const Stream stream;
    vgpu::lose_device(0);
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorDevicesUnavailable);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorDevicesUnavailable);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaErrorDevicesUnavailable);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
    EXPECT_EQ(cudaGetLastError(), cudaErrorDevicesUnavailable);
    require(cudaSetDevice(1));
    const DeviceWords other;
    EXPECT_EQ(launch(WriteValue{other.data(), 5}, nullptr), cudaSuccess)
        << "the other devices go on";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(other.read(0), 5u);
}

TEST_F(FaultTest, losing_a_device_ends_its_waiting_blocks) {
    const PinnedWords never;
    const Stream stream;
    ASSERT_EQ(launch(AwaitFlag{.flag = never.device_data(), .timeout_ns = 0}, stream, {dim3(4)}),
              cudaSuccess);
    vgpu::lose_device(0);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorDevicesUnavailable) << "and does not hang";
}

TEST_F(FaultTest, a_block_that_waits_for_a_lost_device_ends_at_its_deadline) {
    enable_peers(0, 1);
    const DeviceWords words(2);
    const Stream stream;
    require(cudaSetDevice(1));
    const Stream lost;
    const PinnedWords never;
    ASSERT_EQ(launch(AwaitFlag{.flag = never.device_data(), .timeout_ns = 0}, lost), cudaSuccess);
    ASSERT_EQ(launch(SignalFlag{words.data(), 1}, lost), cudaSuccess)
        << "would signal, but never gets there";
    require(cudaSetDevice(0));
    ASSERT_EQ(
        launch(
            AwaitFlag{.flag = words.data(), .outcome = words.data() + 1, .timeout_ns = 50'000'000},
            stream),
        cudaSuccess);
    vgpu::lose_device(1);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(words.read(1), outcome_timed_out);
}

TEST_F(FaultTest, events_of_a_lost_device_do_not_hold_other_devices_for_ever) {
    const PinnedWords never;
    const Stream lost;
    const Event event(cudaEventDisableTiming);
    ASSERT_EQ(launch(AwaitFlag{.flag = never.device_data(), .timeout_ns = 0}, lost), cudaSuccess);
    require(cudaEventRecord(event, lost));
    require(cudaSetDevice(1));
    const Stream stream;
    require(cudaStreamWaitEvent(stream, event, 0));
    vgpu::lose_device(0);
    cudaStreamSynchronize(stream);  // with whatever result: it must return
    cudaGetLastError();
}

TEST_F(FaultTest, accesses_over_a_cut_link_fail_and_the_report_says_why) {
    enable_peers(0, 1);
    const DeviceWords word;
    vgpu::cut_link(1, 0);
    require(cudaSetDevice(1));
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr), cudaSuccess);
    EXPECT_THAT(cudaDeviceSynchronize(),
                testing::AnyOf(cudaErrorIllegalAddress, cudaErrorNvlinkUncorrectable));
    EXPECT_THAT(vgpu::take_report(), AllOf(HasSubstr("link"), HasSubstr("device 0"),
                                           HasSubstr("device 1"), HasSubstr("write_value")));
}

TEST_F(FaultTest, copies_over_a_cut_link_fail_in_both_directions) {
    for (const int source : {0, 1}) {
        start(from_environment());
        const DeviceWords first;
        require(cudaSetDevice(1));
        const DeviceWords second;
        require(cudaSetDevice(0));
        vgpu::cut_link(0, 1);
        const std::uint32_t* const from = source == 0 ? first.data() : second.data();
        std::uint32_t* const to = source == 0 ? second.data() : first.data();
        const cudaError_t issued = cudaMemcpyPeerAsync(to, 1 - source, from, source, 4, nullptr);
        const cudaError_t finished = cudaDeviceSynchronize();
        EXPECT_TRUE(issued != cudaSuccess || finished != cudaSuccess);
    }
}

TEST_F(FaultTest, other_links_are_not_touched_by_a_cut) {
    vgpu::cut_link(0, 1);
    const DeviceWords first;
    first.write({6});
    require(cudaSetDevice(2));
    const DeviceWords second;
    EXPECT_EQ(cudaMemcpyPeer(second.data(), 2, first.data(), 0, 4), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(second.read(0), 6u);
}

/// Milliseconds of a copy of 8 MiB from device 0 to device `target`.
float copy_time(int target) {
    constexpr std::size_t words = 2 << 20;
    require(cudaSetDevice(target));
    const DeviceWords to(words);
    require(cudaSetDevice(0));
    const DeviceWords from(words);
    const Stream stream;
    const Event start;
    const Event end;
    require(cudaEventRecord(start, stream));
    require(cudaMemcpyPeerAsync(to.data(), target, from.data(), 0, words * 4, stream));
    require(cudaEventRecord(end, stream));
    require(cudaEventSynchronize(end));
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, start, end));
    return milliseconds;
}

TEST_F(FaultTest, a_slow_link_makes_copies_take_longer) {
    vgpu::slow_link(0, 1, 200);
    float fastest = copy_time(2);
    for (int round = 0; round < 3; ++round) {
        fastest = std::min(fastest, copy_time(2));
    }
    EXPECT_GT(copy_time(1), 10 * fastest)
        << "200 times the time of the copy itself, with room for noise";
}

TEST_F(FaultTest, a_delayed_block_starts_late_and_the_kernel_waits_for_it) {
    const DeviceWords visits(3);
    const Stream stream;
    vgpu::delay_block({.kernel = "visit", .block = 1}, std::chrono::milliseconds(30));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(launch(VisitBlocks{visits.data()}, stream, {dim3(3)}), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
    EXPECT_THAT(visits.read(), testing::ElementsAre(1, 2, 3));
}

TEST_F(FaultTest, only_the_selected_device_is_delayed) {
    vgpu::delay_block({.device = 1}, std::chrono::seconds(20));
    const DeviceWords word;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(FaultTest, a_block_killed_before_its_start_does_nothing_and_who_waits_for_it_times_out) {
    const DeviceWords flags(4);
    const DeviceWords outcomes(3);
    vgpu::kill_block({.kernel = "grid_barrier", .device = 0, .block = 2}, 0);
    EXPECT_EQ(launch(GridBarrier{flags.data(), outcomes.data(), 50'000'000}, nullptr, {dim3(3)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "the program goes on";
    EXPECT_THAT(flags.read(), testing::ElementsAre(0, 1, 0, 0)) << "block 2 signalled nothing";
    EXPECT_THAT(outcomes.read(),
                testing::ElementsAre(outcome_timed_out, outcome_timed_out, outcome_none));
}

TEST_F(FaultTest, a_block_killed_at_its_first_wait_or_signal_has_begun) {
    const DeviceWords words(2);
    vgpu::kill_block({.kernel = "await_flag"}, 2);
    EXPECT_EQ(
        launch(
            AwaitFlag{.started = words.data(), .flag = words.data(), .outcome = words.data() + 1},
            nullptr),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(words.read(), testing::ElementsAre(1, outcome_none))
        << "it signalled (1st) and ended at its wait (2nd)";
}

TEST_F(FaultTest, block_faults_hit_what_the_selector_says) {
    const DeviceWords words(2);
    vgpu::kill_block({.kernel = "no_such_kernel"}, 0);
    vgpu::kill_block({.device = 1}, 0);
    vgpu::kill_block({.block = 7}, 0);
    EXPECT_EQ(launch(WriteValue{words.data(), 1}, nullptr), cudaSuccess);
    vgpu::kill_block({.kernel = "write_"}, 0);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{words.data() + 1, 1}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(1), 0u);
}

}  // namespace

}  // namespace test
