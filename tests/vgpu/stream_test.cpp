// Streams: creation, order, completion, host functions, streams of other devices.
// Rules: CUDA Runtime API, "Stream Management" and "Execution Control"; Programming Guide,
// "Streams".
#include <mutex>
#include <set>
#include <thread>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using StreamTest = CudaTest;
using ConcurrentStreamTest = ConcurrentTest;
using TwoDeviceStreamTest = TwoDeviceTest;

int priority_of(cudaStream_t stream) {
    int priority = 1000;
    EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
    return priority;
}

unsigned flags_of(cudaStream_t stream) {
    unsigned flags = 1000;
    EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
    return flags;
}

// cudaStreamCreateWithFlags: cudaStreamDefault, cudaStreamNonBlocking; anything else is
// cudaErrorInvalidValue.
TEST_F(StreamTest, flags_are_kept_and_unknown_ones_are_invalid_value) {
    const Stream blocking(cudaStreamDefault);
    const Stream free_running(cudaStreamNonBlocking);
    EXPECT_EQ(flags_of(blocking), cudaStreamDefault);
    EXPECT_EQ(flags_of(free_running), cudaStreamNonBlocking);
    EXPECT_EQ(flags_of(cudaStreamLegacy), cudaStreamDefault);
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 0x100), cudaErrorInvalidValue);
    EXPECT_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaDeviceGetStreamPriorityRange: "lower numbers imply greater priorities"; the range is
// [greatestPriority, leastPriority]; null pointers are allowed.
TEST_F(StreamTest, priorities_lie_in_the_range_of_the_device_and_are_clamped_to_it) {
    int least = -1000;
    int greatest = 1000;
    EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetStreamPriorityRange(nullptr, nullptr), cudaSuccess);
    EXPECT_LE(greatest, least);
    EXPECT_LE(greatest, 0);
    EXPECT_GE(least, 0);
    const struct {
        int asked;
        int expected;
    } cases[] = {{greatest, greatest},
                 {least, least},
                 {0, 0},
                 {greatest - 100, greatest},
                 {least + 100, least}};
    for (const auto& example : cases) {
        cudaStream_t stream = nullptr;
        ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, example.asked),
                  cudaSuccess);
        EXPECT_EQ(priority_of(stream), example.expected);
        EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    }
    const Stream ordinary;
    EXPECT_EQ(priority_of(ordinary), 0) << "0 represents default priority";
}

// cudaStreamGetId: "unique for the life of the program".
TEST_F(StreamTest, ids_are_never_used_again) {
    std::set<unsigned long long> ids;
    for (int round = 0; round < 50; ++round) {
        const Stream stream;
        unsigned long long id = 0;
        EXPECT_EQ(cudaStreamGetId(stream, &id), cudaSuccess);
        EXPECT_TRUE(ids.insert(id).second);
    }
}

// cudaStreamDestroy: cudaErrorInvalidResourceHandle for what nobody created.
TEST_F(StreamTest, the_default_streams_can_not_be_destroyed) {
    EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

// Programming Guide: a stream is "a sequence of commands that execute in order".
TEST_F(StreamTest, kernels_of_one_stream_run_in_order) {
    constexpr std::uint32_t count = 200;
    const DeviceWords log(count + 1);
    const Stream stream;
    for (std::uint32_t id = 0; id < count; ++id) {
        ASSERT_EQ(launch(AppendToLog{log.data() + count, log.data(), id}, stream), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const auto order = log.read();
    for (std::uint32_t id = 0; id <= count; ++id) {
        EXPECT_EQ(order[id], id);
    }
}

// cudaStreamQuery: "Returns cudaSuccess if all operations in stream have completed, or
// cudaErrorNotReady if not."
TEST_F(StreamTest, query_says_not_ready_until_the_work_is_done) {
    const Stream stream;
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "nothing to do";
    Gate gate;
    gate.close(stream);
    EXPECT_TRUE(gate.reached());
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(gate.passed());
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

// Query alone makes progress visible: a program that only polls ends.
TEST_F(StreamTest, polling_with_query_sees_the_end) {
    const DeviceWords word;
    const Stream stream;
    EXPECT_EQ(launch(WriteValue{word.data(), 3}, stream), cudaSuccess);
    EXPECT_TRUE(eventually([&] { return cudaStreamQuery(stream) == cudaSuccess; }));
    EXPECT_EQ(word.read(0), 3u);
}

// cudaStreamSynchronize: "Blocks until stream has completed all operations."
TEST_F(StreamTest, synchronize_returns_after_the_work) {
    const PinnedWords word;
    const Stream stream;
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(launch(WriteValue{word.device_data(), 4}, stream), cudaSuccess);
    std::thread opener([&] {
        EXPECT_TRUE(gate.reached());
        EXPECT_EQ(word.load(), 0u);
        gate.open();
    });
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.load(), 4u);
    opener.join();
}

// cudaStreamSynchronize concerns one stream: another one may still be busy.
TEST_F(ConcurrentStreamTest, synchronize_does_not_wait_for_other_streams) {
    const DeviceWords word;
    const Stream busy;
    const Stream quick;
    Gate gate;
    gate.close(busy);
    EXPECT_EQ(launch(WriteValue{word.data(), 6}, quick), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(quick), cudaSuccess);
    EXPECT_EQ(word.read(0), 6u);
    EXPECT_EQ(cudaStreamQuery(busy), cudaErrorNotReady);
    gate.open();
}

// cudaStreamDestroy: with work pending "the function will return immediately and the resources
// associated with stream will be released automatically once the device has completed all work in
// stream".
TEST_F(StreamTest, destroying_a_busy_stream_does_not_wait_and_its_work_is_done) {
    if (!calls_wait_only_as_documented()) GTEST_SKIP() << "needs destruction that does not wait";
    const PinnedWords word;
    cudaStream_t stream = nullptr;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(launch(WriteValue{word.device_data(), 9}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(word.load(), 0u);
    gate.open();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.load(), 9u);
}

// cudaLaunchHostFunc: "called after currently enqueued work and will block work added after it".
TEST_F(StreamTest, host_functions_run_between_the_work_before_and_after_them) {
    struct State {
        const PinnedWords words{2};
        std::uint32_t before = 0;
        std::uint32_t after = 1;
    } state;
    const Stream stream;
    EXPECT_EQ(launch(WriteValue{state.words.device_data(), 5}, stream), cudaSuccess);
    const auto function = [](void* data) {
        auto& seen = *static_cast<State*>(data);
        seen.before = seen.words.load(0);
        seen.after = seen.words.load(1);
    };
    EXPECT_EQ(cudaLaunchHostFunc(stream, function, &state), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{state.words.device_data() + 1, 6}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(state.before, 5u);
    EXPECT_EQ(state.after, 0u);
    EXPECT_EQ(state.words.load(1), 6u);
}

TEST_F(StreamTest, host_functions_of_one_stream_run_in_order) {
    struct Entry {
        std::vector<int>* log;
        int id;
    };
    std::vector<int> log;
    std::vector<Entry> entries;
    for (int id = 0; id < 50; ++id) {
        entries.push_back({&log, id});
    }
    const Stream stream;
    for (Entry& entry : entries) {
        const auto function = [](void* data) {
            const Entry& call = *static_cast<Entry*>(data);
            call.log->push_back(call.id);
        };
        ASSERT_EQ(cudaLaunchHostFunc(stream, function, &entry), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(log.size(), entries.size());
    EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
}

// A host function that takes long holds its own stream, not the kernels of others.
TEST_F(ConcurrentStreamTest, a_blocked_host_function_holds_only_its_own_stream) {
    const DeviceWords words(2);
    const Stream held;
    const Stream other;
    HostGate gate;
    gate.close(held);
    EXPECT_TRUE(gate.reached());
    EXPECT_EQ(launch(WriteValue{words.data(), 1}, held), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{words.data() + 1, 2}, other), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_THAT(words.read(), testing::ElementsAre(0, 2));
    EXPECT_EQ(cudaStreamQuery(held), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(held), cudaSuccess);
    EXPECT_EQ(words.read(0), 1u);
}

// cudaLaunchHostFunc: "The start of execution of the function has the same effect as synchronizing
// an event recorded in the same stream immediately prior to the function": results of streams that
// were joined are visible.
TEST_F(StreamTest, a_host_function_sees_the_results_of_joined_streams) {
    struct State {
        const PinnedWords word;
        std::uint32_t seen = 0;
    } state;
    const Stream worker;
    const Stream caller;
    const Event done(cudaEventDisableTiming);
    EXPECT_EQ(launch(WriteValue{state.word.device_data(), 21}, worker), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(done, worker), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(caller, done, 0), cudaSuccess);
    const auto function = [](void* data) {
        auto& both = *static_cast<State*>(data);
        both.seen = both.word.load();
    };
    EXPECT_EQ(cudaLaunchHostFunc(caller, function, &state), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(caller), cudaSuccess);
    EXPECT_EQ(state.seen, 21u);
}

TEST_F(StreamTest, a_null_host_function_is_invalid_value) {
    const Stream stream;
    EXPECT_EQ(cudaLaunchHostFunc(stream, nullptr, nullptr), cudaErrorInvalidValue);
    cudaGetLastError();
}

// Many threads may use one device, and one stream, at a time.
TEST_F(StreamTest, several_host_threads_fill_their_streams_at_a_time) {
    constexpr int threads = 4;
    constexpr std::uint32_t launches = 100;
    const DeviceWords words(threads);
    std::vector<std::thread> workers;
    for (int index = 0; index < threads; ++index) {
        workers.emplace_back([&, index] {
            const Stream stream;
            for (std::uint32_t round = 0; round < launches; ++round) {
                EXPECT_EQ(launch(MultiplyAdd{words.data() + index, 1, 1}, stream), cudaSuccess);
            }
            EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        });
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
    EXPECT_THAT(words.read(), testing::Each(launches));
}

#if CUDART_VERSION >= 12080  // older toolkits can't ask
// cudaStreamGetDevice: "the device to which the stream belongs".
TEST_F(TwoDeviceStreamTest, a_stream_belongs_to_the_device_that_was_current) {
    require(cudaSetDevice(1));
    const Stream stream;
    require(cudaSetDevice(0));
    int device = -1;
    EXPECT_EQ(cudaStreamGetDevice(stream, &device), cudaSuccess);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cudaStreamGetDevice(nullptr, &device), cudaSuccess);
    EXPECT_EQ(device, 0) << "the default stream is that of the current device";
}
#endif

// Programming Guide, "Stream and Event Behavior": "A kernel launch will fail if it is issued to a
// stream that is not associated to the current device".
TEST_F(TwoDeviceStreamTest, a_launch_into_a_stream_of_another_device_is_invalid_resource_handle) {
    const DeviceWords word;
    const Stream stream;
    require(cudaSetDevice(1));
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    require(cudaSetDevice(0));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 0u) << "it did not run";
}

// Synchronise and query work whatever device is current.
TEST_F(TwoDeviceStreamTest, streams_are_synchronised_and_queried_from_any_current_device) {
    const DeviceWords word;
    const Stream stream;
    EXPECT_EQ(launch(WriteValue{word.data(), 2}, stream), cudaSuccess);
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
    EXPECT_EQ(word.read(0), 2u);
}

// cudaDeviceSynchronize concerns the current device only.
TEST_F(TwoDeviceStreamTest, device_synchronize_does_not_wait_for_other_devices) {
    const Stream stream;
    Gate gate;
    gate.close(stream);
    EXPECT_TRUE(gate.reached());
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    gate.open();
}

}  // namespace

}  // namespace test
