// Deadlocks are found when nothing can go on, and reported with who waits for whom; slow programs
// are not deadlocks.
#include <string>
#include <thread>

#include "tests/vgpu/vgpu_fixture.hpp"
#include "vgpu/executor.hpp"

namespace test {

namespace {

using testing::AllOf;
using testing::HasSubstr;

class DeadlockTest : public VgpuTest {
protected:
    static vgpu::Options hostile(int resident_blocks, int queues = 16) {
        return {.topology = "2",
                .hostile = true,
                .check = true,
                .resident_blocks = resident_blocks,
                .hardware_queues = queues};
    }
    /// Both modes find deadlocks; a thread sanitizer adds threads of its own, which only hostile
    /// mode can look past.
    static vgpu::Options either_mode() {
#ifdef __SANITIZE_THREAD__
        return hostile(64);
#else
        return {.topology = "2", .check = true};
#endif
    }
};

TEST_F(DeadlockTest, a_grid_barrier_of_more_blocks_than_places_is_reported) {
    start(hostile(2));
    const DeviceWords flags(5);
    const DeviceWords outcomes(4);
    EXPECT_EQ(launch(GridBarrier{flags.data(), outcomes.data(), 0}, nullptr, {dim3(4)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
    EXPECT_THAT(
        vgpu::take_report(),
        AllOf(HasSubstr("deadlock"), HasSubstr("grid_barrier"), HasSubstr("device 0 block 0"),
              HasSubstr("device 0 block 1"), HasSubstr("waits for the flag"), HasSubstr("place")));
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorLaunchTimeout) << "the error stays";
}

TEST_F(DeadlockTest, with_places_for_all_the_same_barrier_finishes) {
    start(hostile(4));
    const DeviceWords flags(5);
    const DeviceWords outcomes(4);
    EXPECT_EQ(launch(GridBarrier{flags.data(), outcomes.data(), 0}, nullptr, {dim3(4)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(outcomes.read(), testing::Each(outcome_ready));
    EXPECT_EQ(vgpu::last_report(), "");
}

TEST_F(DeadlockTest, a_wait_with_a_deadline_is_no_deadlock) {
    start(hostile(2));
    const DeviceWords flags(5);
    const DeviceWords outcomes(4);
    EXPECT_EQ(launch(GridBarrier{flags.data(), outcomes.data(), 100'000'000}, nullptr, {dim3(4)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(outcomes.read(), testing::Contains(outcome_timed_out));
    EXPECT_THAT(vgpu::last_report(), testing::Not(HasSubstr("deadlock")));
}

// The deadline of a wait with a timeout is computed when a thread first looks at the clock for it;
// a search that comes earlier must not take it for a wait without end.
TEST_F(DeadlockTest, a_timeout_whose_deadline_is_not_computed_yet_is_no_deadlock) {
    std::uint32_t flag = 0;
    vgpu::Block block;
    block.waiting = true;
    block.wait = {.flag = &flag, .wanted = 1};
    EXPECT_FALSE(vgpu::ends_by_itself(block));
    block.wait.timeout_ns = 1;
    EXPECT_TRUE(vgpu::ends_by_itself(block)) << "in the future";
    block.wait = {.flag = &flag, .wanted = 1, .deadline_ns = 1};
    EXPECT_TRUE(vgpu::ends_by_itself(block));
    block.waiting = false;
    block.wait = {};
    EXPECT_TRUE(vgpu::ends_by_itself(block)) << "it runs";
}

TEST_F(DeadlockTest, a_wait_that_reaches_its_deadline_is_reported_with_its_flag) {
    start(plain());
    const DeviceWords words(8);
    EXPECT_EQ(
        launch(AwaitFlag{.flag = words.data() + 5, .wanted = 33, .timeout_ns = 1'000'000}, nullptr),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(vgpu::take_report(),
                AllOf(HasSubstr("deadline"), HasSubstr("device 0 block 0"), HasSubstr("await_flag"),
                      HasSubstr("byte 20 of 32 bytes"), HasSubstr("33")));
}

// The signal stands in the one queue behind work that waits for the wait.
TEST_F(DeadlockTest, a_false_dependency_between_streams_is_reported) {
    start(hostile(8, 1));
    const DeviceWords words(2);
    const Stream waiting;
    const Stream signalling;
    EXPECT_EQ(launch(AwaitFlag{.flag = words.data(), .timeout_ns = 0}, waiting), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{words.data() + 1, 1}, waiting), cudaSuccess);
    EXPECT_EQ(launch(SignalFlag{words.data(), 1}, signalling), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
    EXPECT_THAT(vgpu::take_report(), AllOf(HasSubstr("deadlock"), HasSubstr("await_flag")));
}

TEST_F(DeadlockTest, two_devices_that_wait_for_flags_nobody_sets_are_both_named) {
    start(either_mode());
    enable_peers(0, 1);
    const DeviceWords flag_of_first(16);
    const Stream stream_of_first;
    require(cudaSetDevice(1));
    const DeviceWords flag_of_second(16);
    const Stream stream_of_second;
    require(launch(AwaitFlag{.flag = flag_of_first.data() + 3, .wanted = 21, .timeout_ns = 0},
                   stream_of_second));
    require(cudaSetDevice(0));
    require(launch(AwaitFlag{.flag = flag_of_second.data(), .wanted = 22, .timeout_ns = 0},
                   stream_of_first));
    EXPECT_EQ(cudaStreamSynchronize(stream_of_first), cudaErrorLaunchTimeout);
    EXPECT_THAT(vgpu::take_report(),
                AllOf(HasSubstr("deadlock"), HasSubstr("device 0 block 0"),
                      HasSubstr("device 1 block 0"), HasSubstr("to reach 21"),
                      HasSubstr("to reach 22"), HasSubstr("byte 12 of 64 bytes")));
    EXPECT_EQ(cudaStreamSynchronize(stream_of_second), cudaErrorLaunchTimeout);
}

TEST_F(DeadlockTest, a_stream_that_waits_for_an_event_of_a_stuck_stream_ends_too) {
    start(either_mode());
    const DeviceWords flag;
    const Stream stuck;
    const Stream behind;
    const Event event(cudaEventDisableTiming);
    require(launch(AwaitFlag{.flag = flag.data(), .timeout_ns = 0}, stuck));
    require(cudaEventRecord(event, stuck));
    require(cudaStreamWaitEvent(behind, event, 0));
    EXPECT_EQ(cudaStreamSynchronize(behind), cudaErrorLaunchTimeout);
    EXPECT_THAT(vgpu::take_report(), HasSubstr("deadlock"));
}

TEST_F(DeadlockTest, the_machine_works_again_after_a_reset) {
    start(either_mode());
    {
        const DeviceWords flag;
        require(launch(AwaitFlag{.flag = flag.data(), .timeout_ns = 0}, nullptr));
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
    }
    start(plain());
    EXPECT_EQ(vgpu::last_report(), "");
    const DeviceWords word;
    EXPECT_EQ(launch(WriteValue{word.data(), 2}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 2u);
}

// A host thread that will set the flag is somebody who can change that.
TEST_F(DeadlockTest, a_flag_that_another_host_thread_sets_late_is_no_deadlock) {
    start(plain());
    const PinnedWords flag;
    const DeviceWords outcome;
    std::thread setter([&] {
        const auto begin = std::chrono::steady_clock::now();
        eventually([&] {
            return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300);
        });
        flag.store(1);
    });
    EXPECT_EQ(
        launch(AwaitFlag{.flag = flag.device_data(), .outcome = outcome.data(), .timeout_ns = 0},
               nullptr),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << vgpu::last_report();
    setter.join();
    EXPECT_EQ(outcome.read(0), outcome_ready);
}

// The search must not take "nothing can run" from before the flag was set together with "no thread
// is left" from after the setter's end.
TEST_F(DeadlockTest, a_thread_that_sets_the_flag_and_ends_at_once_leaves_no_deadlock) {
    start(plain());
    const DeviceWords outcome;
    for (int round = 0; round < 300; ++round) {
        const PinnedWords flag;
        ASSERT_EQ(
            launch(
                AwaitFlag{.flag = flag.device_data(), .outcome = outcome.data(), .timeout_ns = 0},
                nullptr),
            cudaSuccess);
        std::thread([&flag, round] {
            // Long enough for the caller to wait by napping and searching.
            std::this_thread::sleep_for(std::chrono::microseconds(1000 + round % 50));
            flag.store(1);
        }).detach();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << vgpu::last_report();
        ASSERT_EQ(outcome.read(0), outcome_ready);
    }
}

// So is the calling thread itself as long as it is not inside the runtime.
TEST_F(DeadlockTest, a_flag_that_the_caller_sets_late_is_no_deadlock) {
    start(plain());
    const PinnedWords flag;
    const DeviceWords outcome;
    EXPECT_EQ(
        launch(AwaitFlag{.flag = flag.device_data(), .outcome = outcome.data(), .timeout_ns = 0},
               nullptr),
        cudaSuccess);
    const auto begin = std::chrono::steady_clock::now();
    eventually(
        [&] { return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300); });
    flag.store(1);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << vgpu::last_report();
    EXPECT_EQ(outcome.read(0), outcome_ready);
}

TEST_F(DeadlockTest, a_host_function_that_takes_long_is_no_deadlock) {
    start(plain());
    const PinnedWords flag;
    const DeviceWords outcome;
    const Stream waiting;
    const Stream host;
    struct State {
        const PinnedWords* flag;
    } state{&flag};
    EXPECT_EQ(
        launch(AwaitFlag{.flag = flag.device_data(), .outcome = outcome.data(), .timeout_ns = 0},
               waiting),
        cudaSuccess);
    const auto function = [](void* data) {
        const auto begin = std::chrono::steady_clock::now();
        eventually([&] {
            return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300);
        });
        static_cast<State*>(data)->flag->store(1);
    };
    EXPECT_EQ(cudaLaunchHostFunc(host, function, &state), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << vgpu::last_report();
    EXPECT_EQ(outcome.read(0), outcome_ready);
}

// A delayed block is late, not stuck.
TEST_F(DeadlockTest, waiting_for_a_delayed_block_is_no_deadlock) {
    start(plain());
    vgpu::delay_block({.kernel = "grid_barrier", .block = 1}, std::chrono::milliseconds(300));
    const DeviceWords flags(3);
    const DeviceWords outcomes(2);
    EXPECT_EQ(launch(GridBarrier{flags.data(), outcomes.data(), 0}, nullptr, {dim3(2)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << vgpu::last_report();
    EXPECT_THAT(outcomes.read(), testing::Each(outcome_ready));
}

// A block that was killed never comes: without deadlines that is a deadlock, and it is reported.
TEST_F(DeadlockTest, waiting_for_a_killed_block_is_reported) {
    start(either_mode());
    vgpu::kill_block({.kernel = "grid_barrier", .block = 1}, 0);
    const DeviceWords flags(3);
    const DeviceWords outcomes(2);
    EXPECT_EQ(launch(GridBarrier{flags.data(), outcomes.data(), 0}, nullptr, {dim3(2)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
    EXPECT_THAT(vgpu::take_report(),
                AllOf(HasSubstr("deadlock"), HasSubstr("grid_barrier"),
                      HasSubstr("device 0 block 0"), HasSubstr("byte 4 of 12 bytes")));
}

}  // namespace

}  // namespace test
