// Recording of calls and live memory: what a program asks of the driver, and what it leaves behind.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/vgpu/vgpu_fixture.hpp"

namespace test {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using vgpu::LiveMemory;
using vgpu::RecordedCall;

class RecordTest : public VgpuTest {
protected:
    void SetUp() override { start(plain()); }
    void TearDown() override {
        vgpu::recorded_calls();
        VgpuTest::TearDown();
    }
};

std::vector<std::string> names(const std::vector<RecordedCall>& calls) {
    std::vector<std::string> result;
    for (const RecordedCall& call : calls) result.push_back(call.name);
    return result;
}

/// The only call that `call` makes.
template <class Call>
RecordedCall record(Call call) {
    vgpu::record_calls();
    EXPECT_EQ(call(), cudaSuccess);
    const auto calls = vgpu::recorded_calls();
    EXPECT_EQ(calls.size(), 1u);
    return calls.at(0);
}

TEST_F(RecordTest, calls_are_recorded_in_order_with_device_and_thread) {
    int device = -1;
    require(cudaGetDevice(&device));
    vgpu::record_calls();
    require(cudaSetDevice(1));
    require(cudaGetDevice(&device));
    std::thread([&] { require(cudaGetDevice(&device)); }).join();
    const auto calls = vgpu::recorded_calls();
    require(cudaSetDevice(0));
    EXPECT_THAT(names(calls), ElementsAre("cudaSetDevice", "cudaGetDevice", "cudaGetDevice"));
    EXPECT_EQ(calls[0].device, 0);
    EXPECT_EQ(calls[1].device, 1);
    EXPECT_EQ(calls[2].device, 0) << "of a new thread";
    EXPECT_EQ(calls[0].thread, std::this_thread::get_id());
    EXPECT_NE(calls[2].thread, std::this_thread::get_id());
    EXPECT_THAT(vgpu::recorded_calls(), IsEmpty()) << "it has ended";
}

TEST_F(RecordTest, allocations_frees_and_synchronisation_are_told_apart) {
    void* memory = nullptr;
    void* pinned = nullptr;
    void* pooled = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    const auto is = [](const RecordedCall& call, bool allocates, bool frees, bool synchronises) {
        return call.allocates == allocates && call.frees == frees &&
               call.may_synchronise == synchronises && !call.launches;
    };
    EXPECT_TRUE(is(record([&] { return cudaMalloc(&memory, 64); }), true, false, true));
    EXPECT_TRUE(is(record([&] { return cudaMallocHost(&pinned, 64); }), true, false, true));
    EXPECT_TRUE(is(record([&] { return cudaStreamCreate(&stream); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaEventCreate(&event); }), false, false, true));
    EXPECT_TRUE(
        is(record([&] { return cudaMallocAsync(&pooled, 64, stream); }), true, false, false))
        << "stream-ordered";
    EXPECT_TRUE(is(record([&] { return cudaFreeAsync(pooled, stream); }), false, true, false));
    EXPECT_TRUE(is(record([&] { return cudaEventRecord(event, stream); }), false, false, false));
    EXPECT_TRUE(
        is(record([&] { return cudaStreamWaitEvent(stream, event, 0); }), false, false, false));
    EXPECT_TRUE(
        is(record([&] { return cudaMemsetAsync(memory, 0, 64, stream); }), false, false, false));
    EXPECT_TRUE(is(
        record([&] { return cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, stream); }),
        false, false, false));
    char pageable[64] = {};
    EXPECT_TRUE(is(record([&] {
                       return cudaMemcpyAsync(memory, pageable, 64, cudaMemcpyHostToDevice, stream);
                   }),
                   false, false, true))
        << "pageable memory";
    EXPECT_TRUE(is(record([&] { return cudaMemcpy(memory, pinned, 64, cudaMemcpyHostToDevice); }),
                   false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaMemset(memory, 0, 64); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaStreamSynchronize(stream); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaEventSynchronize(event); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaEventQuery(event); }), false, false, false));
    EXPECT_TRUE(is(record([&] { return cudaStreamQuery(stream); }), false, false, false));
    EXPECT_TRUE(is(record([&] { return cudaDeviceSynchronize(); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaEventDestroy(event); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaStreamDestroy(stream); }), false, false, true));
    EXPECT_TRUE(is(record([&] { return cudaFreeHost(pinned); }), false, true, true));
    EXPECT_TRUE(is(record([&] { return cudaFree(memory); }), false, true, true));
    EXPECT_TRUE(is(record([] { return cudaFree(nullptr); }), false, false, false));
}

TEST_F(RecordTest, only_the_first_launch_of_a_kernel_on_a_device_may_synchronise) {
    start(plain(), 0);
    const DeviceWords word;
    const Stream stream;
    const auto launched = [&] { return launch(WriteValue{word.data(), 1}, stream); };
    const RecordedCall first = record(launched);
    EXPECT_TRUE(first.launches);
    EXPECT_TRUE(first.may_synchronise) << "it loads the kernel";
    const RecordedCall second = record(launched);
    EXPECT_TRUE(second.launches);
    EXPECT_FALSE(second.may_synchronise);
    require(cudaStreamSynchronize(stream));
}

TEST_F(RecordTest, what_disturbs_between_the_first_and_the_last_launch_is_found) {
    const DeviceWords word;
    const Stream stream;
    const Event event(cudaEventDisableTiming);
    void* memory = nullptr;
    const auto program = [&](bool between) {
        vgpu::record_calls();
        require(cudaMalloc(&memory, 64));
        require(launch(WriteValue{word.data(), 1}, stream));
        require(cudaEventRecord(event, stream));
        if (between) require(cudaFree(memory));
        require(launch(WriteValue{word.data(), 2}, stream));
        if (!between) require(cudaFree(memory));
        require(cudaStreamSynchronize(stream));
        return names(vgpu::disturbing_calls_between_launches(vgpu::recorded_calls()));
    };
    EXPECT_THAT(program(true), ElementsAre("cudaFree"));
    EXPECT_THAT(program(false), IsEmpty());
    EXPECT_THAT(vgpu::disturbing_calls_between_launches({}), IsEmpty());
}

TEST_F(RecordTest, live_memory_is_counted_by_device_and_for_the_host) {
    const LiveMemory none;
    EXPECT_EQ(vgpu::live_memory(0), none);
    EXPECT_EQ(vgpu::live_host_memory(), none);
    {
        const DeviceWords on_first(100);
        const PinnedWords pinned(10);
        std::vector<char> own(4096);
        require(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault));
        require(cudaSetDevice(1));
        const Stream stream;
        void* pooled = nullptr;
        require(cudaMallocAsync(&pooled, 80, stream));
        EXPECT_EQ(vgpu::live_memory(0), (LiveMemory{1, 400}));
        EXPECT_EQ(vgpu::live_memory(1), (LiveMemory{1, 80}));
        EXPECT_EQ(vgpu::live_host_memory(), (LiveMemory{2, 40 + 4096}));
        require(cudaFreeAsync(pooled, stream));
        require(cudaStreamSynchronize(stream));
        require(cudaHostUnregister(own.data()));
        require(cudaSetDevice(0));
    }
    EXPECT_EQ(vgpu::live_memory(0), none);
    EXPECT_EQ(vgpu::live_memory(1), none);
    EXPECT_EQ(vgpu::live_host_memory(), none);
}

}  // namespace

}  // namespace test
