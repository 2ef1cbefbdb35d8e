// The virtual machine itself: topologies, memory limits, counters, reset; and wrong handles, which
// CUDA leaves undefined.
#include <exception>
#include <string>

#include "tests/vgpu/vgpu_fixture.hpp"

namespace test {

namespace {

using MachineTest = VgpuTest;

bool reaches(int from, int to) {
    int answer = -1;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&answer, from, to), cudaSuccess);
    return answer == 1;
}

int p2p(cudaDeviceP2PAttr attribute, int from, int to) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, attribute, from, to), cudaSuccess);
    return value;
}

std::string bus_id(int device) {
    char text[32] = {};
    EXPECT_EQ(cudaDeviceGetPCIBusId(text, sizeof(text), device), cudaSuccess);
    return text;
}

TEST_F(MachineTest, a_count_makes_that_many_devices_that_all_reach_each_other) {
    for (const int count : {1, 2, 5, 64}) {
        vgpu::reset({.topology = std::to_string(count)});
        EXPECT_EQ(device_count(), count);
        for (int from = 0; from < count; ++from) {
            for (int to = 0; to < count; ++to) {
                EXPECT_EQ(reaches(from, to), from != to) << from << " " << to;
            }
        }
    }
}

TEST_F(MachineTest, the_host_preset_is_eight_devices_that_all_reach_each_other) {
    vgpu::reset({.topology = "host"});
    EXPECT_EQ(device_count(), 8);
    EXPECT_TRUE(reaches(0, 7));
    EXPECT_TRUE(reaches(7, 0));
}

// DGX-1 with V100: NVLink inside each half and from GPU i to GPU i + 4; across the halves only
// those.
TEST_F(MachineTest, peers_of_a_dgx1_are_its_half_and_its_partner) {
    vgpu::reset({.topology = "dgx1_v100"});
    ASSERT_EQ(device_count(), 8);
    for (int from = 0; from < 8; ++from) {
        for (int to = 0; to < 8; ++to) {
            if (from != to) {
                const bool expected = from / 4 == to / 4 || from % 4 == to % 4;
                EXPECT_EQ(reaches(from, to), expected) << from << " " << to;
                EXPECT_EQ(p2p(cudaDevP2PAttrAccessSupported, from, to), expected ? 1 : 0);
            }
        }
    }
    EXPECT_EQ(p2p(cudaDevP2PAttrNativeAtomicSupported, 0, 4), 1) << "over NVLink";
    EXPECT_THAT(cudaDeviceEnablePeerAccess(5, 0),
                testing::AnyOf(cudaErrorInvalidDevice, cudaErrorPeerAccessUnsupported));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(4, 0), cudaSuccess);
}

// A lower rank is a faster link: two NVLinks (0-3) before one (0-1).
TEST_F(MachineTest, the_performance_rank_follows_the_bandwidth_of_the_link) {
    vgpu::reset({.topology = "dgx1_v100"});
    EXPECT_LT(p2p(cudaDevP2PAttrPerformanceRank, 0, 3), p2p(cudaDevP2PAttrPerformanceRank, 0, 1));
    EXPECT_EQ(p2p(cudaDevP2PAttrPerformanceRank, 0, 3), p2p(cudaDevP2PAttrPerformanceRank, 0, 4));
}

TEST_F(MachineTest, a_dgx1_has_v100s_with_their_bus_ids_and_memory) {
    vgpu::reset({.topology = "dgx1_v100"});
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, 2));
    EXPECT_THAT(properties.name, testing::HasSubstr("Tesla V100-SXM2-32GB"));
    EXPECT_EQ(properties.major, 7);
    EXPECT_EQ(properties.minor, 0);
    EXPECT_EQ(properties.totalGlobalMem, std::size_t(32) << 30);
    EXPECT_EQ(bus_id(0), "0000:06:00.0");
    EXPECT_EQ(bus_id(7), "0000:8a:00.0");
}

// GPUs that share a PCI root without peer-to-peer: nobody reaches anybody, copies still work.
// So that programs need not ask for a device's name.
TEST_F(MachineTest, gpus_in_the_memory_of_the_host_say_that_they_are_integrated) {
    const auto attribute = [](cudaDeviceAttr wanted, int device) {
        int value = -1;
        EXPECT_EQ(cudaDeviceGetAttribute(&value, wanted, device), cudaSuccess);
        return value;
    };
    const auto expect_integrated = [&](const char* topology, int wanted) {
        vgpu::reset({.topology = topology});
        for (int device = 0; device < device_count(); ++device) {
            EXPECT_EQ(attribute(cudaDevAttrIntegrated, device), wanted)
                << topology << " " << device;
            EXPECT_EQ(attribute(cudaDevAttrHostNativeAtomicSupported, device), wanted) << topology;
            EXPECT_EQ(attribute(cudaDevAttrCanMapHostMemory, device), 1) << topology;
            cudaDeviceProp properties{};
            require(cudaGetDeviceProperties(&properties, device));
            EXPECT_EQ(properties.integrated, wanted) << topology;
        }
    };
    expect_integrated("3", 1);
    expect_integrated("host", 1);
    for (const char* topology : {"dgx1_v100", "hgx_h100", "pcie4_nop2p", "mi250_16gcd"})
        expect_integrated(topology, 0);
}

TEST_F(MachineTest, without_pci_peer_access_no_device_reaches_another_and_copies_are_staged) {
    start({.topology = "pcie4_nop2p", .check = true});
    ASSERT_EQ(device_count(), 4);
    for (int from = 0; from < 4; ++from) {
        for (int to = 0; to < 4; ++to) {
            EXPECT_FALSE(reaches(from, to));
        }
    }
    EXPECT_THAT(cudaDeviceEnablePeerAccess(1, 0),
                testing::AnyOf(cudaErrorInvalidDevice, cudaErrorPeerAccessUnsupported));
    const DeviceWords first(100);
    first.write(std::vector<std::uint32_t>(100, 9));
    require(cudaSetDevice(3));
    const DeviceWords second(100);
    EXPECT_EQ(cudaMemcpyPeer(second.data(), 3, first.data(), 0, 400), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(second.read(), testing::Each(9));
}

TEST_F(MachineTest, a_topology_that_can_not_be_read_throws_and_changes_nothing) {
    vgpu::reset({.topology = "3"});
    try {
        vgpu::reset({.topology = "no_such_machine"});
        FAIL() << "must throw";
    } catch (const std::exception& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("no_such_machine"));
    }
    EXPECT_THROW(vgpu::reset({.topology = "0"}), std::exception);
    EXPECT_EQ(device_count(), 3);
    EXPECT_EQ(vgpu::options().topology, "3");
}

// cudaMalloc: cudaErrorMemoryAllocation when the device is full, for each device by itself.
TEST_F(MachineTest, memory_is_limited_on_each_device) {
    start({.topology = "2", .check = true, .memory_per_device = 64 << 20});
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total));
    EXPECT_EQ(total, std::size_t(64) << 20);
    std::vector<void*> taken;
    void* pointer = nullptr;
    cudaError_t status = cudaSuccess;
    while ((status = cudaMalloc(&pointer, 1 << 20)) == cudaSuccess && taken.size() < 100) {
        taken.push_back(pointer);
    }
    EXPECT_EQ(status, cudaErrorMemoryAllocation);
    EXPECT_LE(taken.size(), 64u);
    EXPECT_GE(taken.size(), 60u);
    EXPECT_EQ(cudaMallocAsync(&pointer, 4 << 20, nullptr), cudaErrorMemoryAllocation)
        << "pools share the memory";
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaMalloc(&pointer, 32 << 20), cudaSuccess) << "the other device has its own";
    require(cudaFree(pointer));
    require(cudaSetDevice(0));
    for (void* block : taken) {
        EXPECT_EQ(cudaFree(block), cudaSuccess);
    }
    EXPECT_EQ(cudaMalloc(&pointer, 60 << 20), cudaSuccess) << "freed memory can be used again";
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

TEST_F(MachineTest, memory_of_a_pool_counts_until_it_is_freed) {
    start({.topology = "1", .check = true, .memory_per_device = 16 << 20}, 1);
    const Stream stream;
    for (int round = 0; round < 20; ++round) {
        void* pointer = nullptr;
        ASSERT_EQ(cudaMallocAsync(&pointer, 12 << 20, stream), cudaSuccess) << round;
        ASSERT_EQ(cudaFreeAsync(pointer, stream), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    }
}

TEST_F(MachineTest, counters_count_since_the_reset) {
    start(plain());
    const vgpu::Counters before = vgpu::counters();
    EXPECT_EQ(before.live_allocations, 0u);
    EXPECT_EQ(before.live_streams, 0u);
    {
        const DeviceWords words(4);
        const PinnedWords pinned;
        const Stream stream;
        const Event event;
        EXPECT_EQ(launch(VisitBlocks{words.data()}, stream, {dim3(4)}), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(pinned.data(), words.data(), 4, cudaMemcpyDeviceToHost, stream),
                  cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        const vgpu::Counters during = vgpu::counters();
        EXPECT_EQ(during.allocations - before.allocations, 2u);
        EXPECT_EQ(during.live_allocations, 2u);
        EXPECT_EQ(during.live_streams, 2u) << "its own and that of the words";
        EXPECT_EQ(during.live_events, 1u);
        EXPECT_EQ(during.launches - before.launches, 1u);
        EXPECT_EQ(during.blocks - before.blocks, 4u);
        EXPECT_EQ(during.copies - before.copies, 1u);
        EXPECT_GT(during.api_calls, before.api_calls);
    }
    const vgpu::Counters after = vgpu::counters();
    EXPECT_EQ(after.frees - before.frees, 2u);
    EXPECT_EQ(after.live_allocations, 0u);
    EXPECT_EQ(after.live_streams, 0u);
    EXPECT_EQ(after.live_events, 0u);
    EXPECT_EQ(after.live_graphs, 0u);
}

TEST_F(MachineTest, reset_frees_everything_and_forgets_errors) {
    start(plain());
    void* lost = nullptr;
    cudaStream_t stream = nullptr;
    require(cudaMalloc(&lost, 64));
    require(cudaStreamCreate(&stream));
    require(launch(FailAssertion{}, stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorAssert);
    vgpu::reset();
    EXPECT_EQ(vgpu::counters().live_allocations, 0u);
    EXPECT_EQ(vgpu::counters().live_streams, 0u);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    cudaPointerAttributes attributes{};
    require(cudaPointerGetAttributes(&attributes, lost));
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(MachineTest, reset_ends_work_that_waits_for_ever) {
    start(plain());
    const PinnedWords never;
    const Stream stream;
    ASSERT_EQ(launch(AwaitFlag{.flag = never.device_data(), .timeout_ns = 0}, stream), cudaSuccess);
    vgpu::reset();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    // The handles above died with the machine; their destructors find nothing to free.
    cudaGetLastError();
}

// CUDA leaves these undefined; vgpu names them.
TEST_F(MachineTest, an_unregistered_function_is_invalid_device_function) {
    static const char not_a_kernel = 0;
    EXPECT_EQ(cudaLaunchKernel(&not_a_kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
              cudaErrorInvalidDeviceFunction);
    cudaFuncAttributes attributes{};
    EXPECT_EQ(cudaFuncGetAttributes(&attributes, &not_a_kernel), cudaErrorInvalidDeviceFunction);
}

TEST_F(MachineTest, destroyed_streams_and_events_are_invalid_resource_handle) {
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    require(cudaStreamCreate(&stream));
    require(cudaEventCreate(&event));
    require(cudaStreamDestroy(stream));
    require(cudaEventDestroy(event));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(launch(WriteValue{}, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
}

TEST_F(MachineTest, the_detail_of_an_error_names_the_call_and_what_was_wrong) {
    EXPECT_EQ(cudaSetDevice(77), cudaErrorInvalidDevice);
    EXPECT_THAT(vgpu::last_error_detail(),
                testing::AllOf(testing::HasSubstr("cudaSetDevice"), testing::HasSubstr("77")));
    const Stream stream;
    require(cudaSetDevice(1));
    EXPECT_EQ(launch(WriteValue{}, stream), cudaErrorInvalidResourceHandle);
    EXPECT_THAT(
        vgpu::last_error_detail(),
        testing::AllOf(testing::HasSubstr("cudaLaunchKernel"), testing::HasSubstr("device 0"),
                       testing::HasSubstr("current device is 1")));
}

TEST_F(MachineTest, the_state_says_what_every_block_waits_for) {
    start(plain());
    const DeviceWords flag;
    const Stream stream;
    const PinnedWords started;
    ASSERT_EQ(launch(AwaitFlag{.started = started.device_data(), .flag = flag.data(), .wanted = 7},
                     stream),
              cudaSuccess);
    ASSERT_TRUE(eventually([&] { return started.load() == 1; }));
    EXPECT_TRUE(eventually([] {
        const std::string state = vgpu::describe_state();
        return state.find("await_flag") != std::string::npos &&
               state.find("device 0") != std::string::npos &&
               state.find("7") != std::string::npos && state.find("waits") != std::string::npos;
    })) << vgpu::describe_state();
    const Stream other;
    EXPECT_EQ(launch(SignalFlag{flag.data(), 7}, other), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace

}  // namespace test
