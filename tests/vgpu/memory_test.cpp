// Device memory: allocation, free, fill, pointer attributes, memory info.
// Rules: CUDA Runtime API, "Memory Management" and "Unified Addressing".
#include <array>
#include <limits>

#include <cuda.h>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using MemoryTest = CudaTest;
using TwoDeviceMemoryTest = TwoDeviceTest;

constexpr std::size_t mebibyte = 1 << 20;

std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_LE(free, total);
    return free;
}

/// Bytes of device memory.
std::vector<unsigned char> bytes_at(const void* pointer, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    EXPECT_EQ(cudaMemcpy(bytes.data(), pointer, count, cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
}

// CUDA Programming Guide, "Device Memory Accesses": any address returned by an allocation routine
// is "aligned to at least 256 bytes".
cudaError_t driver_entry(const char* symbol, void** entry,
                         cudaDriverEntryPointQueryResult* result) {
#if CUDART_VERSION >= 12050
    return cudaGetDriverEntryPointByVersion(symbol, entry, 12000, cudaEnableDefault, result);
#else
    return cudaGetDriverEntryPoint(symbol, entry, cudaEnableDefault, result);
#endif
}

TEST_F(MemoryTest, malloc_aligns_to_256_bytes) {
    std::vector<void*> pointers;
    for (std::size_t bytes : {1u, 3u, 255u, 256u, 1000u}) {
        void* pointer = nullptr;
        ASSERT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0u) << bytes;
        pointers.push_back(pointer);
    }
    for (void* pointer : pointers) {
        EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    }
}

// cudaMalloc: zero bytes are allowed and give a null pointer, which cudaFree accepts.
TEST_F(MemoryTest, malloc_of_zero_bytes_succeeds_with_a_null_pointer) {
    int something = 0;
    void* pointer = &something;
    EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
    EXPECT_EQ(pointer, nullptr);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

TEST_F(MemoryTest, malloc_into_nowhere_is_invalid_value) {
    EXPECT_EQ(cudaMalloc(static_cast<void**>(nullptr), 16), cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaFree: "If devPtr is 0, no operation is performed."
TEST_F(MemoryTest, free_of_null_does_nothing) {
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

// cudaFree: "If cudaFree(devPtr) has already been called before, an error is returned."
TEST_F(MemoryTest, second_free_is_invalid_value) {
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, 16));
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

// cudaFree: the pointer "must have been returned by a previous call to one of the following memory
// allocation APIs".
TEST_F(MemoryTest, free_of_what_was_not_allocated_is_invalid_value) {
    const DeviceWords words(64);
    int on_stack = 0;
    EXPECT_EQ(cudaFree(&on_stack), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(words.data() + 1), cudaErrorInvalidValue) << "the inside of an allocation";
    cudaGetLastError();
}

// cudaMemGetInfo: free and total memory of the current device.
TEST_F(MemoryTest, memory_info_follows_allocations) {
    const std::size_t before = free_memory();
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, 64 * mebibyte));
    const std::size_t during = free_memory();
    EXPECT_LE(during + 64 * mebibyte, before);
    require(cudaFree(pointer));
    EXPECT_GE(free_memory(), during + 64 * mebibyte);
}

TEST_F(TwoDeviceMemoryTest, memory_is_counted_on_its_own_device) {
    require(cudaSetDevice(1));
    const std::size_t before = free_memory();
    require(cudaSetDevice(0));
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, 64 * mebibyte));
    require(cudaSetDevice(1));
    EXPECT_EQ(free_memory(), before);
    require(cudaSetDevice(0));
    require(cudaFree(pointer));
}

// cudaMalloc: "returns cudaErrorMemoryAllocation in case of failure"; the error is not sticky.
TEST_F(MemoryTest, more_than_the_device_has_is_memory_allocation_error_and_nothing_is_lost) {
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total));
    for (const std::size_t bytes : {total + 1, std::numeric_limits<std::size_t>::max() / 2}) {
        void* pointer = nullptr;
        EXPECT_EQ(cudaMalloc(&pointer, bytes), cudaErrorMemoryAllocation);
        EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    }
    EXPECT_EQ(free_memory(), free);
    const DeviceWords still_works;
    EXPECT_EQ(launch(WriteValue{still_works.data(), 5}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(still_works.read(0), 5u);
}

// cudaMallocPitch: "The pitch returned in *pitch by cudaMallocPitch() is the width in bytes of the
// allocation".
TEST_F(MemoryTest, pitched_memory_has_rows_of_at_least_the_width) {
    void* pointer = nullptr;
    std::size_t pitch = 0;
    ASSERT_EQ(cudaMallocPitch(&pointer, &pitch, 100, 7), cudaSuccess);
    EXPECT_GE(pitch, 100u);
    EXPECT_EQ(cudaMemset(pointer, 1, pitch * 7), cudaSuccess) << "all rows are there";
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

// cudaMemset: "Fills the first count bytes ... with the constant byte value value."
TEST_F(MemoryTest, memset_fills_bytes_and_no_more) {
    const DeviceWords words(4);
    EXPECT_EQ(cudaMemset(words.data(), 0xAB, 6), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_THAT(words.read(), testing::ElementsAre(0xABABABABu, 0x0000ABABu, 0, 0));
    EXPECT_EQ(cudaMemset(words.data(), 0x1FF, 4), cudaSuccess)
        << "only the low byte of the value counts";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.read(0), 0xFFFFFFFFu);
    EXPECT_EQ(cudaMemset(words.data(), 1, 0), cudaSuccess);
}

// cudaMemsetAsync: in stream order.
TEST_F(MemoryTest, memset_async_is_ordered_in_its_stream) {
    const DeviceWords words(2);
    const Stream stream;
    EXPECT_EQ(launch(WriteValue{words.data(), 77}, stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(words.data(), 0x11, 4, stream), cudaSuccess);
    EXPECT_EQ(launch(MultiplyAdd{words.data(), 1, 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(words.read(), testing::ElementsAre(0x11111112u, 0));
}

// cudaMemset2D: "height rows of width bytes each"; pitch is the distance of rows.
TEST_F(MemoryTest, memset_2d_leaves_the_padding_alone) {
    const DeviceWords words(4);
    EXPECT_EQ(cudaMemset2D(words.data(), 8, 0xEE, 3, 2), cudaSuccess);
    EXPECT_THAT(bytes_at(words.data(), 16), testing::ElementsAre(0xEE, 0xEE, 0xEE, 0, 0, 0, 0, 0,
                                                                 0xEE, 0xEE, 0xEE, 0, 0, 0, 0, 0));
    const Stream stream;
    EXPECT_EQ(cudaMemset2DAsync(words.data(), 8, 0, 1, 2, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(bytes_at(words.data(), 2), (std::vector<unsigned char>{0, 0xEE}));
}

TEST_F(MemoryTest, memset_of_what_is_no_device_memory_is_invalid_value) {
    const DeviceWords words(64);
    EXPECT_EQ(cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemset(words.data(), 0, std::size_t(1) << 40), cudaErrorInvalidValue)
        << "past the end";
    cudaGetLastError();
}

// cudaPointerGetAttributes: type, device, devicePointer, hostPointer of device memory.
TEST_F(MemoryTest, attributes_of_device_memory) {
    const DeviceWords words(8);
    for (const std::uint32_t* pointer : {words.data(), words.data() + 7}) {
        const cudaPointerAttributes attributes = attributes_of(pointer);
        EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
        EXPECT_EQ(attributes.device, 0);
        EXPECT_EQ(attributes.devicePointer, pointer);
        EXPECT_EQ(attributes.hostPointer, nullptr);
    }
}

TEST_F(TwoDeviceMemoryTest, attributes_name_the_device_where_the_memory_resides) {
    require(cudaSetDevice(1));
    const DeviceWords words;
    require(cudaSetDevice(0));
    const cudaPointerAttributes attributes = attributes_of(words.data());
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 1);
    EXPECT_EQ(attributes.devicePointer, nullptr)
        << "not accessible from the current device: no peer access";
}

// cudaPointerGetAttributes: "passing host pointer will return cudaMemoryTypeUnregistered ... and
// cudaSuccess".
TEST_F(MemoryTest, attributes_of_ordinary_host_memory_say_unregistered) {
    int on_stack = 0;
    EXPECT_EQ(attributes_of(&on_stack).type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(cudaPointerGetAttributes(nullptr, &on_stack), cudaErrorInvalidValue);
    cudaGetLastError();
}

// "Unified Addressing": one address space, so no two allocations share an address.
TEST_F(TwoDeviceMemoryTest, allocations_of_all_devices_have_different_addresses) {
    const DeviceWords first(1024);
    require(cudaSetDevice(1));
    const DeviceWords second(1024);
    const bool apart = first.data() + 1024 <= second.data() || second.data() + 1024 <= first.data();
    EXPECT_TRUE(apart);
}

// Programming Guide, Driver Entry Point Access: what the runtime has no name for.
TEST_F(MemoryTest, the_driver_tells_the_range_of_an_allocation) {
    using Function = CUresult (*)(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
    void* entry = nullptr;
    auto result = cudaDriverEntryPointSymbolNotFound;
    ASSERT_EQ(driver_entry("cuPointerGetAttributes", &entry, &result), cudaSuccess);
    ASSERT_EQ(result, cudaDriverEntryPointSuccess);
    ASSERT_NE(entry, nullptr);
    const DeviceWords words(100);
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    CUdeviceptr begin = 1;
    std::size_t bytes = 1;
    void* answers[] = {&begin, &bytes};
    EXPECT_EQ(reinterpret_cast<Function>(entry)(2, attributes, answers,
                                                reinterpret_cast<CUdeviceptr>(words.data() + 50)),
              CUDA_SUCCESS);
    EXPECT_EQ(begin, reinterpret_cast<CUdeviceptr>(words.data()));
    EXPECT_EQ(bytes, 400u);
    const int local = 0;
    EXPECT_EQ(reinterpret_cast<Function>(entry)(2, attributes, answers,
                                                reinterpret_cast<CUdeviceptr>(&local)),
              CUDA_SUCCESS)
        << "not an error: all answers are 0";
    EXPECT_EQ(begin, 0u);
    EXPECT_EQ(bytes, 0u);
}

TEST_F(MemoryTest, the_driver_does_not_know_every_name) {
    void* entry = &entry;
    auto result = cudaDriverEntryPointSuccess;
    EXPECT_EQ(driver_entry("cuNoSuchFunction", &entry, &result), cudaSuccess);
    EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
    EXPECT_EQ(entry, nullptr);
}

}  // namespace

}  // namespace test
