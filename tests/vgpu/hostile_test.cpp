// Hostile mode: what real drivers may do to a program, each thing by itself.
// Rules: Programming Guide, "Concurrent Kernel Execution", "Lazy Loading" and "Implicit
// Synchronization".
#include <optional>
#include <string>
#include <vector>

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

/// A device that has something to do when a call is made: does the call wait for it?
class BusyDevice {
public:
    explicit BusyDevice(int device) : current_(device), device_(device) {
        require(load());
        words_.emplace(3);
        stream_.emplace();
        current_.reset();
    }

    template <class Call>
    bool is_waited_for(Call call) {
        words_->store(0, 0);
        words_->store(outcome_none, 1);
        {
            const CurrentDevice current(device_);
            require(launch(AwaitFlag{.flag = words_->device_data(),
                                     .outcome = words_->device_data() + 1,
                                     .timeout_ns = busy_ns},
                           *stream_));
        }
        EXPECT_EQ(call(), cudaSuccess);
        const bool ended = words_->load(1) != outcome_none;
        words_->store(1, 0);
        require(cudaStreamSynchronize(*stream_));
        return ended;
    }

private:
    static constexpr std::uint64_t busy_ns = 30'000'000;
    static cudaError_t load() {
        cudaFuncAttributes attributes{};
        return cudaFuncGetAttributes(&attributes, kernel<AwaitFlag>());
    }

    std::optional<CurrentDevice> current_;
    int device_;
    std::optional<PinnedWords> words_;
    std::optional<Stream> stream_;
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

TEST_F(HostileTest, asking_for_the_attributes_of_a_kernel_loads_it_and_waits_for_the_device) {
    start(hostile(), 0);
    BusyDevice busy(0);
    cudaFuncAttributes attributes{};
    EXPECT_TRUE(busy.is_waited_for(
        [&] { return cudaFuncGetAttributes(&attributes, kernel<SignalFlag>()); }));
    EXPECT_FALSE(busy.is_waited_for([&] {
        return cudaFuncGetAttributes(&attributes, kernel<SignalFlag>());
    })) << "it is loaded now";
}

// Calls in which drivers may synchronise: here they do.

TEST_F(HostileTest, device_allocation_waits_for_the_device) {
    start(hostile());
    BusyDevice busy(0);
    BusyDevice other(1);
    void* pointers[4] = {};
    std::size_t pitch = 0;
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaMalloc(&pointers[0], 64); }));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaMallocPitch(&pointers[1], &pitch, 64, 2); }));
    EXPECT_TRUE(busy.is_waited_for(
        [&] { return cudaMallocManaged(&pointers[2], 64, cudaMemAttachGlobal); }));
    EXPECT_FALSE(other.is_waited_for([&] { return cudaMalloc(&pointers[3], 64); }))
        << "not for another device";
    for (void* pointer : pointers) require(cudaFree(pointer));
}

TEST_F(HostileTest, host_allocation_and_registration_wait_for_all_devices) {
    start(hostile());
    BusyDevice busy(1);  // not the current one
    void* first = nullptr;
    void* second = nullptr;
    std::vector<char> own(4096);
    EXPECT_TRUE(
        busy.is_waited_for([&] { return cudaHostAlloc(&first, 64, cudaHostAllocDefault); }));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaMallocHost(&second, 64); }));
    EXPECT_TRUE(busy.is_waited_for(
        [&] { return cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault); }));
    require(cudaHostUnregister(own.data()));
    require(cudaFreeHost(first));
    require(cudaFreeHost(second));
}

// cudaFree "may perform implicit synchronization".
TEST_F(HostileTest, free_waits_for_all_devices) {
    start(hostile());
    BusyDevice busy(0);
    BusyDevice other(1);
    void* unrelated[3] = {};
    for (void*& each : unrelated) require(cudaMalloc(&each, 64));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaFree(unrelated[0]); }));
    EXPECT_TRUE(other.is_waited_for([&] { return cudaFree(unrelated[1]); }));
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaFree(nullptr); })) << "nothing to free";
    require(cudaFree(unrelated[2]));
}

TEST_F(HostileTest, freeing_and_unregistering_host_memory_waits_for_all_devices) {
    start(hostile());
    BusyDevice busy(1);
    void* first = nullptr;
    void* second = nullptr;
    std::vector<char> own(4096);
    require(cudaHostAlloc(&first, 64, cudaHostAllocDefault));
    require(cudaMallocHost(&second, 64));
    require(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaFreeHost(first); }));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaFreeHost(second); }));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaHostUnregister(own.data()); }));
}

TEST_F(HostileTest, creating_and_destroying_streams_waits_for_their_device) {
    start(hostile());
    BusyDevice busy(0);
    cudaStream_t streams[3] = {};
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaStreamCreate(&streams[0]); }));
    EXPECT_TRUE(busy.is_waited_for(
        [&] { return cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking); }));
    EXPECT_TRUE(busy.is_waited_for(
        [&] { return cudaStreamCreateWithPriority(&streams[2], cudaStreamNonBlocking, -1); }));
    require(cudaSetDevice(1));  // not the stream's: the stream's device counts
    for (cudaStream_t stream : streams)
        EXPECT_TRUE(busy.is_waited_for([&] { return cudaStreamDestroy(stream); }));
}

TEST_F(HostileTest, creating_and_destroying_events_waits_for_their_device) {
    start(hostile());
    BusyDevice busy(0);
    cudaEvent_t events[2] = {};
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaEventCreate(&events[0]); }));
    EXPECT_TRUE(busy.is_waited_for(
        [&] { return cudaEventCreateWithFlags(&events[1], cudaEventDisableTiming); }));
    require(cudaSetDevice(1));
    for (cudaEvent_t event : events)
        EXPECT_TRUE(busy.is_waited_for([&] { return cudaEventDestroy(event); }));
}

TEST_F(HostileTest, creating_and_destroying_pools_waits_for_their_device) {
    start(hostile());
    BusyDevice busy(1);
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 1};
    cudaMemPool_t pool = nullptr;
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaMemPoolCreate(&pool, &properties); }));
    EXPECT_TRUE(busy.is_waited_for([&] { return cudaMemPoolDestroy(pool); }));
}

TEST_F(HostileTest, switching_peer_access_waits_for_both_devices) {
    start(hostile());
    for (int device : {0, 1}) {
        BusyDevice busy(device);
        EXPECT_TRUE(busy.is_waited_for([] { return cudaDeviceEnablePeerAccess(1, 0); }));
        EXPECT_FALSE(busy.is_waited_for([] {
            EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
            return cudaGetLastError() == cudaErrorPeerAccessAlreadyEnabled ? cudaSuccess
                                                                           : cudaErrorUnknown;
        })) << "it was enabled already";
        EXPECT_TRUE(busy.is_waited_for([] { return cudaDeviceDisablePeerAccess(1); }));
    }
}

// What this rule is for: a thread launches for one rank, then allocates for the next, whose launch
// the first one waits for.
TEST_F(HostileTest, an_allocation_between_launches_that_wait_for_each_other_is_a_deadlock) {
    start(hostile());
    enable_peers(0, 1);
    const DeviceWords flag;
    const Stream stream;
    ASSERT_EQ(launch(AwaitFlag{.flag = flag.data(), .timeout_ns = 0}, stream), cudaSuccess);
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 64), cudaErrorLaunchTimeout);
    EXPECT_EQ(pointer, nullptr);
    EXPECT_THAT(vgpu::take_report(),
                testing::AllOf(testing::HasSubstr("deadlock"), testing::HasSubstr("await_flag")));
}

TEST_F(HostileTest, without_hostile_mode_none_of_these_wait) {
    start(plain());
    BusyDevice busy(0);
    void* pointer = nullptr;
    void* pinned = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaMalloc(&pointer, 64); }));
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaMallocHost(&pinned, 64); }));
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaStreamCreate(&stream); }));
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaStreamDestroy(stream); }));
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaEventCreate(&event); }));
    EXPECT_FALSE(busy.is_waited_for([&] { return cudaEventDestroy(event); }));
    require(cudaFree(pointer));
    require(cudaFreeHost(pinned));
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
