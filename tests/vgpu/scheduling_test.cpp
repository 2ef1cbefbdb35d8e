// Blocks as fibers: any number of them wait for each other on any number of cores; work starts by
// itself; schedules come from a seed.
#include <atomic>
#include <chrono>
#include <set>
#include <string>

#include "tests/vgpu/vgpu_fixture.hpp"
#include "vgpu/kernel.hpp"

namespace test {

namespace {

using SchedulingTest = VgpuTest;
using RingTest = VgpuTest;

/// A ring of devices, each with `blocks` blocks that pass a token `rounds` times to the same block
/// of the next device.
class Ring {
public:
    Ring(int devices, unsigned blocks) : blocks_(blocks) {
        for (int device = 0; device < devices; ++device) {
            require(cudaSetDevice(device));
            require(cudaDeviceEnablePeerAccess((device + 1) % devices, 0));
            flags_.push_back(std::make_unique<DeviceWords>(blocks));
            outcomes_.push_back(std::make_unique<DeviceWords>(blocks));
            streams_.push_back(std::make_unique<Stream>());
        }
    }
    void run(std::uint32_t rounds) const {
        const std::size_t devices = flags_.size();
        for (std::size_t device = 0; device < devices; ++device) {
            require(cudaSetDevice(static_cast<int>(device)));
            ASSERT_EQ(launch(RingStep{.mine = flags_[device]->data(),
                                      .next = flags_[(device + 1) % devices]->data(),
                                      .rounds = rounds,
                                      .starts = device == 0 ? 1u : 0u,
                                      .outcomes = outcomes_[device]->data(),
                                      .timeout_ns = 60'000'000'000},
                             *streams_[device], {dim3(blocks_)}),
                      cudaSuccess);
        }
        for (std::size_t device = 0; device < devices; ++device) {
            require(cudaSetDevice(static_cast<int>(device)));
            EXPECT_EQ(cudaStreamSynchronize(*streams_[device]), cudaSuccess) << vgpu::last_report();
            EXPECT_THAT(outcomes_[device]->read(), testing::Each(outcome_ready))
                << "device " << device;
        }
    }

private:
    unsigned blocks_;
    std::vector<std::unique_ptr<DeviceWords>> flags_;
    std::vector<std::unique_ptr<DeviceWords>> outcomes_;
    std::vector<std::unique_ptr<Stream>> streams_;
};

vgpu::Options devices(int count) {
    vgpu::Options options = vgpu::Options::from_environment();
    options.topology = std::to_string(count);
    return options;
}

// Also run with one core (taskset), see CMakeLists.txt.
TEST_F(RingTest, sixty_four_devices_with_sixteen_blocks_each_pass_a_token_around) {
    start(devices(64), 64);
    Ring(64, 16).run(3);
}

TEST_F(RingTest, two_devices_pass_a_token_a_thousand_times) {
    start(devices(2));
    Ring(2, 4).run(1000);
}

TEST_F(RingTest, the_ring_closes_with_one_worker_and_with_many) {
    for (const int workers : {1, 2, 7}) {
        vgpu::Options options = devices(8);
        options.workers = workers;
        start(options, 8);
        Ring(8, 8).run(20);
    }
}

TEST_F(SchedulingTest, a_kernel_starts_without_any_further_call) {
    const PinnedWords word;
    const Stream stream;
    EXPECT_EQ(launch(WriteValue{word.device_data(), 1}, stream), cudaSuccess);
    EXPECT_TRUE(eventually([&] { return word.load() == 1; }));
}

TEST_F(SchedulingTest, a_chain_over_streams_and_devices_runs_without_any_further_call) {
    const PinnedWords words(3);
    const Stream first;
    const Event event(cudaEventDisableTiming);
    EXPECT_EQ(launch(WriteValue{words.device_data(), 5}, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
    require(cudaSetDevice(1));
    const Stream second;
    EXPECT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    EXPECT_EQ(launch(CopyWords{words.device_data() + 1, words.device_data(), 1, 1}, second),
              cudaSuccess);
    const auto function = [](void* data) { static_cast<const PinnedWords*>(data)->store(9, 2); };
    EXPECT_EQ(cudaLaunchHostFunc(second, function, const_cast<PinnedWords*>(&words)), cudaSuccess);
    EXPECT_TRUE(eventually([&] { return words.load(2) == 9; }));
    EXPECT_EQ(words.load(1), 6u);
}

TEST_F(SchedulingTest, work_goes_on_while_the_host_computes) {
    const PinnedWords word;
    const DeviceWords device;
    const Stream stream;
    for (int round = 0; round < 100; ++round) {
        EXPECT_EQ(launch(MultiplyAdd{device.data(), 1, 1}, stream), cudaSuccess);
    }
    EXPECT_EQ(cudaMemcpyAsync(word.data(), device.data(), 4, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_TRUE(eventually([&] { return word.load() == 100; })) << "nobody synchronises";
}

std::atomic<bool> second_has_run;
std::atomic<bool> first_has_seen_it;

/// Kernels that neither wait nor announce work as vgpu would like it.
void spin_until_second_has_run(void**) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!second_has_run && std::chrono::steady_clock::now() < deadline) {
    }
    first_has_seen_it = second_has_run.load();
}
void run_second(void**) {
    second_has_run = true;
}

// A caller that waits takes all work that is ready; what it does not get to, workers take over.
TEST_F(SchedulingTest, a_kernel_that_spins_holds_up_nobody) {
    start(devices(2));
    Ring(2, 4).run(3);  // leaves blocks to use again
    const auto first = reinterpret_cast<const void*>(&spin_until_second_has_run);
    const auto second = reinterpret_cast<const void*>(&run_second);
    vgpu::register_kernel(first, {.name = "first", .run = &spin_until_second_has_run});
    vgpu::register_kernel(second, {.name = "second", .run = &run_second});
    for (int round = 0; round < 20; ++round) {
        second_has_run = false;
        first_has_seen_it = false;
        require(cudaSetDevice(0));
        EXPECT_EQ(cudaLaunchKernel(first, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);
        require(cudaSetDevice(1));
        EXPECT_EQ(cudaLaunchKernel(second, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);
        require(cudaSetDevice(0));
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_TRUE(first_has_seen_it) << "round " << round;
    }
}

/// In which order blocks of one kernel took their tickets.
std::vector<std::uint32_t> order_of_blocks() {
    constexpr std::uint32_t blocks = 8;
    constexpr std::uint32_t rounds = 20;
    const DeviceWords cursor;
    const DeviceWords order(blocks * rounds);
    EXPECT_EQ(launch(TakeTicket{cursor.data(), order.data(), rounds}, nullptr, {dim3(blocks)}),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cursor.read(0), blocks * rounds);
    return order.read();
}

vgpu::Options seeded(std::uint64_t seed) {
    return {.topology = "2", .seed = seed, .check = true};
}

TEST_F(SchedulingTest, a_seed_gives_the_same_schedule_again) {
    for (const std::uint64_t seed : {1u, 2u, 77u}) {
        start(seeded(seed));
        const auto first = order_of_blocks();
        start(seeded(seed));
        EXPECT_EQ(order_of_blocks(), first) << "seed " << seed;
    }
}

TEST_F(SchedulingTest, different_seeds_give_different_schedules) {
    std::set<std::vector<std::uint32_t>> orders;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        start(seeded(seed));
        orders.insert(order_of_blocks());
    }
    EXPECT_GT(orders.size(), 5u) << "of ten";
}

TEST_F(SchedulingTest, a_random_schedule_interleaves_the_blocks) {
    start(seeded(3));
    const auto order = order_of_blocks();
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end())) << "not one block after the other";
}

TEST_F(SchedulingTest, kernels_of_two_streams_are_interleaved_too) {
    std::set<std::uint32_t> outcomes;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        start(seeded(seed));
        const DeviceWords word;
        word.write({10});
        const Stream first;
        const Stream second;
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 2, 0}, first), cudaSuccess);
        EXPECT_EQ(launch(MultiplyAdd{word.data(), 1, 1}, second), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        outcomes.insert(word.read(0));
    }
    EXPECT_THAT(outcomes, testing::ElementsAre(21, 22))
        << "both orders occur: 10 * 2 + 1 and (10 + 1) * 2";
}

}  // namespace

}  // namespace test
