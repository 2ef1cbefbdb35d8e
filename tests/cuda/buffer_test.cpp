// Buffers and copies: who owns, on which device, in which stream.
#include "cuda/buffer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/copy.hpp"
#include "cuda/device_guard.hpp"
#include "tests/vgpu/cuda_fixture.hpp"

namespace rondo {

namespace {

using BufferTest = test::CudaTest;
using TwoDeviceBufferTest = test::TwoDeviceTest;
using Values = std::vector<int>;

static_assert(!std::is_copy_constructible_v<DeviceBuffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<DeviceBuffer<int>>);
static_assert(std::is_nothrow_move_assignable_v<PinnedBuffer<int>>);
static_assert(std::is_convertible_v<DeviceSpan<int>, DeviceSpan<const int>>);
static_assert(!std::is_convertible_v<DeviceSpan<const int>, DeviceSpan<int>>);

Values counting(std::size_t count) {
    Values values(count);
    std::iota(values.begin(), values.end(), 1);
    return values;
}

/// Brings elements back to the host and waits for them.
Values read(DeviceSpan<const int> span) {
    const Stream stream(span.device());
    Values values(span.size());
    copy(stream, std::span(values), span);
    stream.synchronize();
    return values;
}

cudaPointerAttributes attributes_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes;
}

TEST_F(TwoDeviceBufferTest, a_device_buffer_lives_on_its_device) {
    const DeviceBuffer<int> buffer(DeviceId(1), 100);
    EXPECT_EQ(buffer.size(), 100u);
    EXPECT_EQ(buffer.size_bytes(), 400u);
    EXPECT_EQ(buffer.device(), DeviceId(1));
    EXPECT_EQ(attributes_of(buffer.data()).device, 1);
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
}

TEST_F(BufferTest, data_goes_to_the_device_and_back) {
    const Stream stream(DeviceId(0));
    const Values values = counting(1000);
    const DeviceBuffer<int> first(DeviceId(0), 1000);
    const DeviceBuffer<int> second(DeviceId(0), 1000);
    copy(stream, first.span(), values);
    copy(stream, second.span(), first);
    Values back(1000);
    copy(stream, std::span(back), second);
    stream.synchronize();
    EXPECT_EQ(back, values);
}

TEST_F(TwoDeviceBufferTest, data_goes_from_device_to_device) {
    const Stream stream(DeviceId(0));
    const DeviceBuffer<int> first(DeviceId(0), 50);
    const DeviceBuffer<int> second(DeviceId(1), 50);
    const Values values = counting(50);
    copy(stream, first.span(), values);
    copy(stream, second.span(), first);
    stream.synchronize();
    EXPECT_EQ(read(second), values);
}

TEST_F(BufferTest, parts_are_copied_and_filled) {
    const Stream stream(DeviceId(0));
    const DeviceBuffer<int> buffer(DeviceId(0), 6);
    const Values values = counting(6);
    copy(stream, buffer.span(), values);
    fill_bytes(stream, buffer.span().subspan(2, 3), std::byte{0});
    stream.synchronize();
    EXPECT_EQ(read(buffer), (Values{1, 2, 0, 0, 0, 6}));
}

TEST_F(BufferTest, empty_buffers_and_copies_of_nothing_are_fine) {
    const Stream stream(DeviceId(0));
    const DeviceBuffer<int> nothing(DeviceId(0), 0);
    EXPECT_EQ(nothing.data(), nullptr);
    EXPECT_TRUE(nothing.span().empty());
    const AsyncBuffer<int> no_pool_memory(stream, 0);
    const PinnedBuffer<int> no_pinned_memory(DeviceId(0), 0);
    copy(stream, nothing.span(), Values{});
    copy(stream, nothing.span(), no_pool_memory.span());
    fill_bytes(stream, nothing.span(), std::byte{1});
    EXPECT_EQ(no_pinned_memory.device_span().data(), nullptr);
}

TEST_F(BufferTest, sizes_must_agree) {
    const Stream stream(DeviceId(0));
    const DeviceBuffer<int> buffer(DeviceId(0), 4);
    try {
        copy(stream, buffer.span(), counting(3));
        FAIL() << "must throw";
    } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(),
                    testing::AllOf(testing::HasSubstr("12 bytes"), testing::HasSubstr("16 bytes")));
    }
}

TEST_F(BufferTest, parts_must_lie_inside) {
    const DeviceBuffer<int> buffer(DeviceId(0), 4);
    EXPECT_NO_THROW(buffer.span().subspan(4, 0));
    EXPECT_THROW(buffer.span().subspan(5, 0), InvalidArgument);
    EXPECT_THROW(buffer.span().subspan(1, 4), InvalidArgument);
    EXPECT_THROW(buffer.span().subspan(1, std::numeric_limits<std::size_t>::max()),
                 InvalidArgument);
}

TEST_F(BufferTest, too_much_is_an_error_that_names_the_size) {
    EXPECT_THROW(DeviceBuffer<double>(DeviceId(0), std::numeric_limits<std::size_t>::max() / 4),
                 InvalidArgument);
    const std::size_t count = device_memory(DeviceId(0)).total_bytes + 1;
    try {
        const DeviceBuffer<char> buffer(DeviceId(0), count);
        FAIL() << "must throw";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code(), cudaErrorMemoryAllocation);
        EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(count) + " bytes"));
    }
}

TEST_F(BufferTest, moving_takes_the_memory_along) {
    DeviceBuffer<int> first(DeviceId(0), 10);
    int* const memory = first.data();
    DeviceBuffer<int> second(std::move(first));
    EXPECT_EQ(second.data(), memory);
    DeviceBuffer<int> third(DeviceId(0), 5);
    third = std::move(second);
    EXPECT_EQ(third.data(), memory);
    EXPECT_EQ(third.size(), 10u);
}

TEST_F(BufferTest, memory_is_given_back) {
    const std::size_t before = device_memory(DeviceId(0)).free_bytes;
    {
        const DeviceBuffer<char> large(DeviceId(0), 64 << 20);
        EXPECT_LT(device_memory(DeviceId(0)).free_bytes, before);
    }
    EXPECT_GE(device_memory(DeviceId(0)).free_bytes, before);
}

TEST_F(TwoDeviceBufferTest, pinned_memory_is_zero_and_seen_by_kernels_of_every_device) {
    {
        const PinnedBuffer<std::uint32_t> used(DeviceId(0), 4);
        std::ranges::fill(used.span(), 0xFFu);
    }
    const PinnedBuffer<std::uint32_t> words(DeviceId(0), 4);
    EXPECT_THAT(words.span(), testing::Each(0));
    for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
        const DeviceGuard guard(device);
        const auto seen = words.device_span(device);
        EXPECT_EQ(seen.device(), device);
        check(test::launch(test::WriteValue{seen.data() + device.value(), 7u + device.value()},
                           nullptr));
        synchronize_device(device);
    }
    EXPECT_EQ(words[0], 7u);
    EXPECT_EQ(words[1], 8u);
    EXPECT_EQ(attributes_of(words.data()).type, cudaMemoryTypeHost);
}

TEST_F(BufferTest, async_memory_is_used_in_its_stream) {
    const Stream stream(DeviceId(0));
    const Values values = counting(3);
    Values back(3);
    {
        const AsyncBuffer<int> buffer(stream, 3);
        EXPECT_EQ(buffer.stream(), stream.ref());
        copy(stream, buffer.span(), values);
        copy(stream, std::span(back), buffer);
    }
    stream.synchronize();
    EXPECT_EQ(back, values);
}

TEST_F(TwoDeviceBufferTest, async_memory_comes_from_the_device_of_the_stream) {
    const Stream stream(DeviceId(1));
    const AsyncBuffer<int> buffer(stream, 3);
    stream.synchronize();
    EXPECT_EQ(buffer.device(), DeviceId(1));
    EXPECT_EQ(attributes_of(buffer.data()).device, 1);
}

TEST_F(BufferTest, the_range_of_an_allocation_is_known_from_any_address_in_it) {
    const DeviceBuffer<int> buffer(DeviceId(0), 1000);
    const PinnedBuffer<int> pinned(DeviceId(0), 500);
    const Stream stream(DeviceId(0));
    const AsyncBuffer<int> async(stream, 200);
    const auto expect_range = [](const int* data, std::size_t count) {
        for (const std::size_t offset : {std::size_t{0}, count / 2, count - 1}) {
            const auto range = memory::allocation_range(data + offset);
            ASSERT_TRUE(range.has_value()) << count << " " << offset;
            EXPECT_LE(range->begin, reinterpret_cast<std::uintptr_t>(data));
            EXPECT_GE(range->bytes_from(data), count * sizeof(int));
            EXPECT_EQ(range->bytes_from(data + offset),
                      range->bytes_from(data) - offset * sizeof(int));
        }
    };
    expect_range(buffer.data(), 1000);
    expect_range(pinned.data(), 500);
    expect_range(async.data(), 200);
    EXPECT_EQ(memory::allocation_range(buffer.data())->begin,
              reinterpret_cast<std::uintptr_t>(buffer.data()));
    EXPECT_EQ(memory::allocation_range(buffer.data())->bytes, 4000u);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(BufferTest, memory_that_cuda_does_not_know_has_no_range) {
    const int local = 0;
    EXPECT_EQ(memory::allocation_range(&local), std::nullopt);
    EXPECT_EQ(memory::allocation_range(nullptr), std::nullopt);
    const int* freed = nullptr;
    {
        const DeviceBuffer<int> buffer(DeviceId(0), 10);
        freed = buffer.data();
    }
    EXPECT_EQ(memory::allocation_range(freed), std::nullopt);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace

}  // namespace rondo
