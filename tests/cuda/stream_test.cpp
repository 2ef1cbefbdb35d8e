// Streams and events of a named device.
#include "cuda/stream.hpp"

#include <optional>
#include <string>
#include <type_traits>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/event.hpp"
#include "tests/vgpu/cuda_fixture.hpp"

namespace rondo {

namespace {

using test::WriteValue;
using StreamTest = test::CudaTest;
using TwoDeviceStreamTest = test::TwoDeviceTest;

static_assert(!std::is_copy_constructible_v<Stream> &&
              std::is_nothrow_move_constructible_v<Stream>);
static_assert(!std::is_copy_constructible_v<Event> && std::is_nothrow_move_assignable_v<Event>);

/// Launches on the stream's own device, whatever is current.
template <class Arguments>
void launch_in(StreamRef stream, const Arguments& arguments) {
    const DeviceGuard guard(stream.device());
    check(test::launch(arguments, stream.get()));
}

TEST_F(TwoDeviceStreamTest, a_stream_is_made_for_its_device_and_the_current_device_stays) {
    const Stream stream(DeviceId(1));
    EXPECT_EQ(stream.device(), DeviceId(1));
    int device = -1;
#if CUDART_VERSION >= 12080  // older toolkits can't ask
    EXPECT_EQ(cudaStreamGetDevice(stream.get(), &device), cudaSuccess);
    EXPECT_EQ(device, 1);
#endif
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
}

TEST_F(StreamTest, options_choose_blocking_and_priority) {
    const Stream ordinary(DeviceId(0));
    const Stream blocking(DeviceId(0), {.blocking = true});
    unsigned flags = 0;
    EXPECT_EQ(cudaStreamGetFlags(ordinary.get(), &flags), cudaSuccess);
    EXPECT_EQ(flags, cudaStreamNonBlocking);
    EXPECT_EQ(cudaStreamGetFlags(blocking.get(), &flags), cudaSuccess);
    EXPECT_EQ(flags, cudaStreamDefault);
    int greatest = 0;
    test::require(cudaDeviceGetStreamPriorityRange(nullptr, &greatest));
    const Stream urgent(DeviceId(0), {.priority = greatest});
    int priority = 0;
    EXPECT_EQ(cudaStreamGetPriority(urgent.get(), &priority), cudaSuccess);
    EXPECT_EQ(priority, greatest);
}

TEST_F(StreamTest, ready_and_synchronize_follow_the_work) {
    const Stream stream(DeviceId(0));
    test::Gate gate;
    EXPECT_TRUE(stream.ready());
    gate.close(stream.get());
    EXPECT_FALSE(stream.ready());
    gate.open();
    stream.synchronize();
    EXPECT_TRUE(stream.ready());
}

TEST_F(StreamTest, moving_takes_the_stream_along) {
    const test::DeviceWords word;
    Stream first(DeviceId(0));
    const cudaStream_t handle = first.get();
    Stream second(std::move(first));
    EXPECT_EQ(second.get(), handle);
    Stream third(DeviceId(0));
    third = std::move(second);
    EXPECT_EQ(third.get(), handle);
    launch_in(third, WriteValue{word.data(), 3});
    third.synchronize();
    EXPECT_EQ(word.read(0), 3u);
}

TEST_F(TwoDeviceStreamTest, default_streams_are_those_of_the_named_device) {
    const test::PinnedWords words(2);
    const StreamRef legacy = StreamRef::legacy_default(DeviceId(1));
    const StreamRef per_thread = StreamRef::per_thread_default(DeviceId(1));
    launch_in(legacy, WriteValue{words.device_data(), 1});
    launch_in(per_thread, WriteValue{words.device_data() + 1, 2});
    legacy.synchronize();
    per_thread.synchronize();
    EXPECT_EQ(words.load(0), 1u);
    EXPECT_EQ(words.load(1), 2u);
}

TEST_F(StreamTest, host_calls_run_in_order) {
    const test::PinnedWords word;
    const Stream stream(DeviceId(0));
    std::uint32_t seen = 0;
    struct State {
        const test::PinnedWords& word;
        std::uint32_t& seen;
    } state{word, seen};
    launch_in(stream, WriteValue{word.device_data(), 8});
    stream.call_host(
        [](void* data) {
            static_cast<State*>(data)->seen = static_cast<State*>(data)->word.load();
        },
        &state);
    stream.synchronize();
    EXPECT_EQ(seen, 8u);
}

TEST_F(TwoDeviceStreamTest, an_event_orders_streams_of_two_devices) {
    const test::PinnedWords words(2);
    const Stream producer(DeviceId(0));
    const Stream consumer(DeviceId(1));
    const Event event(DeviceId(0));
    test::Gate gate;
    gate.close(producer.get());
    launch_in(producer, WriteValue{words.device_data(), 4});
    event.record(producer);
    consumer.wait(event);
    launch_in(consumer, test::CopyWords{words.device_data() + 1, words.device_data(), 1, 10});
    EXPECT_FALSE(event.ready());
    EXPECT_FALSE(consumer.ready());
    gate.open();
    consumer.synchronize();
    EXPECT_TRUE(event.ready());
    EXPECT_EQ(words.load(1), 14u);
}

TEST_F(TwoDeviceStreamTest, recording_on_another_device_throws_and_names_both) {
    const Stream stream(DeviceId(1));
    const Event event(DeviceId(0));
    try {
        event.record(stream);
        FAIL() << "must throw";
    } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(),
                    testing::AllOf(testing::HasSubstr("device 0"), testing::HasSubstr("device 1")));
    }
}

TEST_F(StreamTest, timed_events_measure_and_others_throw) {
    const Stream stream(DeviceId(0));
    const Event start(DeviceId(0), {.timing = true});
    const Event end(DeviceId(0), {.timing = true, .blocking_sync = true});
    start.record(stream);
    end.record(stream);
    end.synchronize();
    EXPECT_GE(elapsed_milliseconds(start, end), 0.f);
    const Event untimed(DeviceId(0));
    untimed.record(stream);
    untimed.synchronize();
    EXPECT_THROW(elapsed_milliseconds(start, untimed), CudaError);
}

TEST_F(StreamTest, ready_leaves_no_last_error) {
    const Stream stream(DeviceId(0));
    const Event event(DeviceId(0));
    test::Gate gate;
    gate.close(stream.get());
    event.record(stream);
    EXPECT_FALSE(stream.ready());
    EXPECT_FALSE(event.ready());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    gate.open();
}

std::string refusal(StreamRef stream) {
    try {
        check_stream(stream);
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "";
}

TEST_F(StreamTest, streams_of_their_device_and_default_streams_can_be_used) {
    const Stream stream(DeviceId(0));
    EXPECT_NO_THROW(check_stream(stream));
    EXPECT_NO_THROW(check_stream(StreamRef(DeviceId(0), nullptr)));
    EXPECT_NO_THROW(check_stream(StreamRef::legacy_default(DeviceId(0))));
    EXPECT_NO_THROW(check_stream(StreamRef::per_thread_default(DeviceId(0))));
    EXPECT_EQ(stream_device(nullptr), std::nullopt) << "whichever device is current";
}

#if CUDART_VERSION >= 12080
TEST_F(TwoDeviceStreamTest, a_stream_of_another_device_is_refused_with_both_devices) {
    const Stream stream(DeviceId(1));
    EXPECT_EQ(stream_device(stream.get()), DeviceId(1));
    EXPECT_EQ(refusal(StreamRef(DeviceId(0), stream.get())),
              "the stream belongs to device 1, not to device 0");
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}
#endif

}  // namespace

}  // namespace rondo
