// Copies: kinds, directions, 2D, peers, and what they synchronise with.
// Rules: CUDA Runtime API, "Memory Management" and "API synchronization behavior".
#include <array>
#include <numeric>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using CopyTest = CudaTest;
using TwoDeviceCopyTest = TwoDeviceTest;
using Words = std::vector<std::uint32_t>;

Words counting(std::size_t count, std::uint32_t first = 1) {
    Words words(count);
    std::iota(words.begin(), words.end(), first);
    return words;
}

// cudaMemcpy: cudaMemcpyHostToDevice, DeviceToDevice, DeviceToHost, HostToHost.
TEST_F(CopyTest, every_direction_carries_the_bytes) {
    const Words source = counting(1000);
    Words target(1000);
    const DeviceWords first(1000);
    const DeviceWords second(1000);
    EXPECT_EQ(cudaMemcpy(first.data(), source.data(), first.bytes(), cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpy(second.data(), first.data(), first.bytes(), cudaMemcpyDeviceToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpy(target.data(), second.data(), first.bytes(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(target, source);
    Words again(1000);
    EXPECT_EQ(cudaMemcpy(again.data(), target.data(), first.bytes(), cudaMemcpyHostToHost),
              cudaSuccess);
    EXPECT_EQ(again, source);
}

// cudaMemcpyDefault: "the type of transfer is inferred from the pointer values".
TEST_F(CopyTest, default_direction_is_inferred) {
    const Words source = counting(100);
    Words target(100);
    const DeviceWords first(100);
    const PinnedWords second(100);
    EXPECT_EQ(cudaMemcpy(first.data(), source.data(), first.bytes(), cudaMemcpyDefault),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpy(second.data(), first.data(), first.bytes(), cudaMemcpyDefault),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpy(target.data(), second.data(), first.bytes(), cudaMemcpyDefault),
              cudaSuccess);
    EXPECT_EQ(target, source);
}

TEST_F(CopyTest, unaligned_parts_are_copied_exactly) {
    const DeviceWords words(8);
    std::array<unsigned char, 9> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9};
    EXPECT_EQ(cudaMemcpy(reinterpret_cast<char*>(words.data()) + 3, bytes.data(), 9,
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(words.read(),
                testing::ElementsAre(0x01000000u, 0x05040302u, 0x09080706u, 0, 0, 0, 0, 0));
}

TEST_F(CopyTest, nothing_is_copied_by_zero_bytes) {
    const DeviceWords words;
    std::uint32_t value = 5;
    EXPECT_EQ(cudaMemcpy(words.data(), &value, 0, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(words.data(), &value, 0, cudaMemcpyDefault, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(0), 0u);
}

// cudaMemcpy: cudaErrorInvalidMemcpyDirection, cudaErrorInvalidValue.
TEST_F(CopyTest, unknown_directions_and_bad_pointers_are_errors) {
    const DeviceWords words(4);
    Words host(4);
    EXPECT_EQ(cudaMemcpy(words.data(), host.data(), 4, static_cast<cudaMemcpyKind>(7)),
              cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(
        cudaMemcpyAsync(words.data(), host.data(), 4, static_cast<cudaMemcpyKind>(7), nullptr),
        cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(cudaMemcpy(nullptr, host.data(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(host.data(), nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    cudaGetLastError();
}

TEST_F(CopyTest, copies_past_the_end_of_an_allocation_are_invalid_value) {
    const DeviceWords small(4);
    Words host(1 << 22);  // larger than any rounding of the allocation
    EXPECT_EQ(cudaMemcpy(small.data(), host.data(), host.size() * 4, cudaMemcpyHostToDevice),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(host.data(), small.data(), host.size() * 4, cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaMemcpyAsync: in stream order.
TEST_F(CopyTest, async_copies_are_ordered_with_the_kernels_of_their_stream) {
    const PinnedWords host(2);
    const DeviceWords device(1);
    const Stream stream;
    host.store(10, 0);
    EXPECT_EQ(cudaMemcpyAsync(device.data(), host.data(), 4, cudaMemcpyHostToDevice, stream),
              cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{device.data(), 2, 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(host.data() + 1, device.data(), 4, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{device.data(), 100, 0}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(host.load(1), 21u);
}

// "API synchronization behavior", asynchronous memcpy: between pinned and device memory it is
// "fully asynchronous": the source is read when the stream gets there.
TEST_F(CopyTest, an_async_copy_from_pinned_memory_reads_it_in_stream_order) {
    const PinnedWords host;
    const DeviceWords device;
    const Stream stream;
    Gate gate;
    gate.close(stream);
    host.store(1);
    EXPECT_EQ(cudaMemcpyAsync(device.data(), host.data(), 4, cudaMemcpyHostToDevice, stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    host.store(2);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(device.read(0), 2u);
}

// Same, for pageable memory: it is staged, so what the caller does with it afterwards does not
// matter (devices that access pageable memory directly may do otherwise).
TEST_F(CopyTest, an_async_copy_from_pageable_memory_keeps_what_it_was_given) {
    int direct = 0;
    require(cudaDeviceGetAttribute(&direct, cudaDevAttrPageableMemoryAccess, 0));
    if (direct != 0) {
        GTEST_SKIP() << "device 0 accesses pageable memory directly";
    }
    const DeviceWords device(3);
    const Stream stream;
    Words host = {1, 2, 3};
    EXPECT_EQ(cudaMemcpyAsync(device.data(), host.data(), 12, cudaMemcpyHostToDevice, stream),
              cudaSuccess);
    host = {7, 8, 9};
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(device.read(), testing::ElementsAre(1, 2, 3));
}

// "For transfers from any host memory to any host memory, the function is fully synchronous with
// respect to the host."
TEST_F(CopyTest, a_copy_within_the_host_is_done_when_it_returns) {
    const Stream stream;
    std::uint32_t source = 6;
    std::uint32_t target = 0;
    EXPECT_EQ(cudaMemcpyAsync(&target, &source, 4, cudaMemcpyHostToHost, stream), cudaSuccess);
    EXPECT_EQ(target, 6u);
}

// Synchronous memcpy: "For transfers from device to either pageable or pinned host memory, the
// function returns only once the copy has completed", behind all earlier work of the legacy default
// stream.
TEST_F(CopyTest, a_blocking_copy_waits_for_the_default_stream) {
    const DeviceWords device;
    for (std::uint32_t round = 1; round <= 20; ++round) {
        EXPECT_EQ(launch(WriteValue{device.data(), round}, cudaStreamLegacy), cudaSuccess);
        std::uint32_t value = 0;
        EXPECT_EQ(cudaMemcpy(&value, device.data(), 4, cudaMemcpyDeviceToHost), cudaSuccess);
        EXPECT_EQ(value, round);
    }
}

// "For transfers from device memory to device memory, no host-side synchronization is performed."
// Memset likewise: "The synchronous memset functions are asynchronous with respect to the host"
// except on pinned memory.
TEST_F(CopyTest, device_to_device_copies_and_memsets_return_while_the_default_stream_is_busy) {
    const DeviceWords first(2);
    const DeviceWords second(2);
    first.write({3, 4});
    Gate gate;
    gate.close(cudaStreamLegacy);
    EXPECT_EQ(cudaMemcpy(second.data(), first.data(), 8, cudaMemcpyDeviceToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemset(first.data(), 0, 8), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    EXPECT_TRUE(gate.passed());
    EXPECT_THAT(second.read(), testing::ElementsAre(3, 4));
    EXPECT_THAT(first.read(), testing::ElementsAre(0, 0));
}

// cudaMemcpy2D: "height rows of width bytes each", dpitch and spitch are the widths in memory.
TEST_F(CopyTest, two_dimensional_copies_keep_the_padding) {
    const Words source = {1, 2, 99, 3, 4, 99};
    const DeviceWords device(8);
    EXPECT_EQ(cudaMemcpy2D(device.data(), 16, source.data(), 12, 8, 2, cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(device.read(), testing::ElementsAre(1, 2, 0, 0, 3, 4, 0, 0));
    Words target(4, 7);
    const Stream stream;
    EXPECT_EQ(
        cudaMemcpy2DAsync(target.data(), 8, device.data(), 16, 4, 2, cudaMemcpyDefault, stream),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(target, (Words{1, 7, 3, 7}));
}

// cudaMemcpy2D: "width must not exceed either dpitch or spitch": cudaErrorInvalidPitchValue.
TEST_F(CopyTest, rows_wider_than_the_pitch_are_invalid_pitch_value) {
    const Words source(8);
    const DeviceWords device(8);
    EXPECT_EQ(cudaMemcpy2D(device.data(), 4, source.data(), 16, 8, 2, cudaMemcpyHostToDevice),
              cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemcpy2D(device.data(), 16, source.data(), 4, 8, 2, cudaMemcpyHostToDevice),
              cudaErrorInvalidPitchValue);
    EXPECT_EQ(
        cudaMemcpy2D(device.data(), 16, source.data(), 16, 8, 2, static_cast<cudaMemcpyKind>(7)),
        cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();
}

// cudaMemcpyPeer works without peer access ("staged through the host").
TEST_F(TwoDeviceCopyTest, peers_exchange_data_without_peer_access) {
    const DeviceWords first(1000);
    first.write(counting(1000, 5));
    require(cudaSetDevice(1));
    const DeviceWords second(1000);
    EXPECT_EQ(cudaMemcpyPeer(second.data(), 1, first.data(), 0, second.bytes()), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(second.read(), counting(1000, 5));
}

TEST_F(TwoDeviceCopyTest, peers_exchange_data_with_cudaMemcpyDefault) {
    const DeviceWords first(10);
    first.write(counting(10, 2));
    require(cudaSetDevice(1));
    const DeviceWords second(10);
    const Stream stream;
    EXPECT_EQ(cudaMemcpyAsync(second.data(), first.data(), 40, cudaMemcpyDefault, stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(second.read(), counting(10, 2));
}

// cudaMemcpyPeerAsync: ordered in its stream, whichever device that is of.
TEST_F(TwoDeviceCopyTest, async_peer_copies_are_ordered_in_their_stream) {
    const DeviceWords first;
    const Stream stream_of_first;
    require(cudaSetDevice(1));
    const DeviceWords second;
    require(cudaSetDevice(0));
    EXPECT_EQ(launch(WriteValue{first.data(), 17}, stream_of_first), cudaSuccess);
    EXPECT_EQ(cudaMemcpyPeerAsync(second.data(), 1, first.data(), 0, 4, stream_of_first),
              cudaSuccess);
    EXPECT_EQ(launch(WriteValue{first.data(), 18}, stream_of_first), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_of_first), cudaSuccess);
    EXPECT_EQ(second.read(0), 17u);
}

// Programming Guide, "Stream and Event Behavior": "A memory copy will succeed even if it is issued
// to a stream that is not associated to the current device."
TEST_F(TwoDeviceCopyTest, a_copy_may_use_a_stream_of_another_device) {
    const DeviceWords first;
    const PinnedWords host;
    const Stream stream_of_first;
    host.store(44);
    require(cudaSetDevice(1));
    EXPECT_EQ(
        cudaMemcpyAsync(first.data(), host.data(), 4, cudaMemcpyHostToDevice, stream_of_first),
        cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(first.data(), 0x55, 1, stream_of_first), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_of_first), cudaSuccess);
    EXPECT_EQ(first.read(0), 0x55u);
}

// cudaMemcpyPeer: cudaErrorInvalidDevice.
TEST_F(TwoDeviceCopyTest, peer_copies_with_unknown_devices_are_invalid_device) {
    const DeviceWords first;
    EXPECT_EQ(cudaMemcpyPeer(first.data(), 0, first.data(), device_count_, 4),
              cudaErrorInvalidDevice);
    EXPECT_EQ(cudaMemcpyPeerAsync(first.data(), -1, first.data(), 0, 4, nullptr),
              cudaErrorInvalidDevice);
    cudaGetLastError();
}

// cudaMemcpyPeer: "serialized with respect all pending and future asynchronous work in to the
// current device, srcDevice, and dstDevice".
TEST_F(TwoDeviceCopyTest, a_blocking_peer_copy_is_ordered_with_the_work_of_both_devices) {
    const DeviceWords first;
    require(cudaSetDevice(1));
    const DeviceWords second;
    const Stream stream_of_second(cudaStreamDefault);
    require(cudaSetDevice(0));
    const Stream stream_of_first(cudaStreamDefault);
    EXPECT_EQ(launch(WriteValue{first.data(), 1}, stream_of_first), cudaSuccess);
    EXPECT_EQ(cudaMemcpyPeer(second.data(), 1, first.data(), 0, 4), cudaSuccess);
    require(cudaSetDevice(1));
    EXPECT_EQ(launch(MultiplyAdd{second.data(), 10, 5}, stream_of_second), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(second.read(0), 15u);
}

}  // namespace

}  // namespace test
