// Memory that is allocated and freed in stream order, and its pools.
// Rules: CUDA Runtime API and Programming Guide, "Stream Ordered Memory Allocator".
#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

/// Devices without pools are skipped.
class PoolTest : public CudaTest {
protected:
    void SetUp() override {
        CudaTest::SetUp();
        if (IsSkipped()) {
            return;
        }
        int supported = 0;
        require(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
        if (supported == 0) {
            GTEST_SKIP() << "device 0 has no memory pools";
        }
    }
};

using TwoDevicePoolTest = PeerTest;

std::uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr name) {
    std::uint64_t value = 0;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, name, &value), cudaSuccess);
    return value;
}

cudaMemPool_t default_pool(int device = 0) {
    cudaMemPool_t pool = nullptr;
    EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, device), cudaSuccess);
    return pool;
}

cudaMemPool_t current_pool(int device = 0) {
    cudaMemPool_t pool = nullptr;
    EXPECT_EQ(cudaDeviceGetMemPool(&pool, device), cudaSuccess);
    return pool;
}

cudaMemPoolProps properties_for(int device) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    return properties;
}

cudaMemAccessDesc access_from(int device, cudaMemAccessFlags flags) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = device;
    access.flags = flags;
    return access;
}

cudaMemAccessFlags access_of(cudaMemPool_t pool, int device) {
    cudaMemLocation location{};
    location.type = cudaMemLocationTypeDevice;
    location.id = device;
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool, &location), cudaSuccess);
    return flags;
}

std::uint32_t* allocate(cudaStream_t stream, std::size_t bytes = 64) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMallocAsync(&pointer, bytes, stream), cudaSuccess);
    return static_cast<std::uint32_t*>(pointer);
}

// cudaMallocAsync: "Basic stream ordering allows future work submitted into the same stream to use
// the allocation".
TEST_F(PoolTest,
       memory_is_used_between_its_allocation_and_its_free_in_one_stream_without_synchronising) {
    const PinnedWords result;
    const Stream stream;
    std::uint32_t* const words = allocate(stream);
    EXPECT_EQ(launch(WriteValue{words, 31}, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(result.data(), words, 4, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(result.load(), 31u);
}

// cudaMallocAsync: "A pointer to the allocated memory is returned immediately", also when the
// stream is busy.
TEST_F(PoolTest, the_pointer_is_there_before_the_stream_gets_to_the_allocation) {
    const Stream stream;
    Gate gate;
    gate.close(stream);
    std::uint32_t* const words = allocate(stream);
    EXPECT_NE(words, nullptr);
    EXPECT_EQ(launch(WriteValue{words, 1}, stream), cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

// cudaFreeAsync: the memory may be used until "stream execution reaches the free": work enqueued
// before it still has it.
TEST_F(PoolTest, work_before_the_free_still_has_its_memory_when_it_runs_later) {
    const PinnedWords result;
    const Stream stream;
    std::uint32_t* const words = allocate(stream);
    require(cudaStreamSynchronize(stream));
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(launch(WriteValue{words, 8}, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(result.data(), words, 4, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(result.load(), 8u);
}

// "CUDA events can be used to guarantee that the allocation operation completes before work in a
// separate stream runs".
TEST_F(PoolTest, another_stream_uses_and_frees_the_memory_behind_an_event) {
    const PinnedWords result;
    const Stream first;
    const Stream second;
    const Event allocated(cudaEventDisableTiming);
    std::uint32_t* const words = allocate(first);
    EXPECT_EQ(launch(WriteValue{words, 12}, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(allocated, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, allocated, 0), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(result.data(), words, 4, cudaMemcpyDeviceToHost, second),
              cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(words, second), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(result.load(), 12u);
}

TEST_F(PoolTest, pool_memory_has_the_attributes_of_device_memory) {
    const Stream stream;
    std::uint32_t* const words = allocate(stream);
    require(cudaStreamSynchronize(stream));
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, words), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 0);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
}

// cudaFree takes memory of cudaMallocAsync too, when "all accesses to these pointer have
// completed".
TEST_F(PoolTest, cudaFree_frees_pool_memory) {
    const Stream stream;
    std::uint32_t* const words = allocate(stream);
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(cudaFree(words), cudaSuccess);
    EXPECT_EQ(attribute(default_pool(), cudaMemPoolAttrUsedMemCurrent), 0u);
}

TEST_F(PoolTest, wrong_frees_are_invalid_value) {
    const Stream stream;
    int on_stack = 0;
    EXPECT_EQ(cudaFreeAsync(nullptr, stream), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFreeAsync(&on_stack, stream), cudaErrorInvalidValue);
    std::uint32_t* const words = allocate(stream);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaErrorInvalidValue) << "a second free";
    cudaGetLastError();
}

// cudaMallocAsync: cudaErrorOutOfMemory, an old name of cudaErrorMemoryAllocation.
TEST_F(PoolTest, more_than_the_device_has_is_memory_allocation_error) {
    const Stream stream;
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total));
    void* pointer = nullptr;
    EXPECT_EQ(cudaMallocAsync(&pointer, total + 1, stream), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    std::uint32_t* const words = allocate(stream);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
}

// cudaDeviceGetMemPool: "By default the current mempool is the default mempool".
TEST_F(PoolTest, the_default_pool_is_current_and_can_not_be_destroyed) {
    EXPECT_NE(default_pool(), nullptr);
    EXPECT_EQ(current_pool(), default_pool());
    EXPECT_EQ(cudaMemPoolDestroy(default_pool()), cudaErrorInvalidValue);
    cudaMemPool_t pool = nullptr;
    EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, device_count_), cudaErrorInvalidDevice);
    cudaGetLastError();
}

// cudaMemPoolAttrUsedMemCurrent: "Amount of memory from the pool that is currently in use by the
// application"; cudaMemPoolAttrUsedMemHigh: its high watermark, reset by setting 0.
TEST_F(PoolTest, usage_is_counted) {
    const Stream stream;
    const cudaMemPool_t pool = default_pool();
    EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
    std::uint32_t* const words = allocate(stream, 1 << 20);
    require(cudaStreamSynchronize(stream));
    EXPECT_GE(attribute(pool, cudaMemPoolAttrUsedMemCurrent), std::uint64_t(1) << 20);
    EXPECT_GE(attribute(pool, cudaMemPoolAttrReservedMemCurrent),
              attribute(pool, cudaMemPoolAttrUsedMemCurrent));
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
    EXPECT_GE(attribute(pool, cudaMemPoolAttrUsedMemHigh), std::uint64_t(1) << 20);
    std::uint64_t reset = 0;
    EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &reset), cudaSuccess);
    EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 0u);
    std::uint64_t illegal = 1;
    EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &illegal),
              cudaErrorInvalidValue)
        << "It is illegal to set this attribute to a non-zero value";
    cudaGetLastError();
}

// cudaMemPoolAttrReleaseThreshold: "Amount of reserved memory in bytes to hold onto" (default 0);
// cudaMemPoolTrimTo.
TEST_F(PoolTest, memory_below_the_release_threshold_stays_reserved_until_trimmed) {
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties = properties_for(0);
    require(cudaMemPoolCreate(&pool, &properties));
    EXPECT_EQ(attribute(pool, cudaMemPoolAttrReleaseThreshold), 0u);
    std::uint64_t threshold = ~std::uint64_t(0);
    EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
              cudaSuccess);
    EXPECT_EQ(attribute(pool, cudaMemPoolAttrReleaseThreshold), threshold);
    const Stream stream;
    void* pointer = nullptr;
    EXPECT_EQ(cudaMallocFromPoolAsync(&pointer, 1 << 20, pool, stream), cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(pointer, stream), cudaSuccess);
    require(cudaStreamSynchronize(stream));
    EXPECT_GE(attribute(pool, cudaMemPoolAttrReservedMemCurrent), std::uint64_t(1) << 20);
    EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
    EXPECT_EQ(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0u);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

// cudaDeviceSetMemPool: cudaMallocAsync "allocates from the current mempool of the provided
// stream's device".
TEST_F(PoolTest, malloc_async_takes_from_the_current_pool) {
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties = properties_for(0);
    require(cudaMemPoolCreate(&pool, &properties));
    EXPECT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
    EXPECT_EQ(current_pool(), pool);
    const Stream stream;
    std::uint32_t* const words = allocate(stream);
    require(cudaStreamSynchronize(stream));
    EXPECT_GE(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 64u);
    EXPECT_EQ(attribute(default_pool(), cudaMemPoolAttrUsedMemCurrent), 0u);
    EXPECT_EQ(cudaFreeAsync(words, stream), cudaSuccess);
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
    EXPECT_EQ(current_pool(), default_pool())
        << "Destroying the current mempool sets the default mempool as current";
}

// cudaMemPoolDestroy: with allocations that were not freed, "the function will return immediately
// and the resources associated with the pool will be released automatically".
TEST_F(PoolTest, memory_outlives_its_destroyed_pool) {
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties = properties_for(0);
    require(cudaMemPoolCreate(&pool, &properties));
    const Stream stream;
    void* pointer = nullptr;
    require(cudaMallocFromPoolAsync(&pointer, 64, pool, stream));
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{static_cast<std::uint32_t*>(pointer), 3}, stream), cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(pointer, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(PoolTest, pools_need_valid_properties) {
    cudaMemPool_t pool = nullptr;
    cudaMemPoolProps properties = properties_for(0);
    EXPECT_EQ(cudaMemPoolCreate(nullptr, &properties), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemPoolCreate(&pool, nullptr), cudaErrorInvalidValue);
    properties.allocType = cudaMemAllocationTypeInvalid;
    EXPECT_EQ(cudaMemPoolCreate(&pool, &properties), cudaErrorInvalidValue);
    cudaGetLastError();
}

// "By default, the pool's memory will be accessible from the device it is allocated on."
TEST_F(TwoDevicePoolTest, a_pool_is_accessible_from_its_own_device_only_until_access_is_set) {
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties = properties_for(0);
    require(cudaMemPoolCreate(&pool, &properties));
    EXPECT_EQ(access_of(pool, 0), cudaMemAccessFlagsProtReadWrite);
    EXPECT_EQ(access_of(pool, 1), cudaMemAccessFlagsProtNone);
    const cudaMemAccessDesc grant = access_from(1, cudaMemAccessFlagsProtReadWrite);
    EXPECT_EQ(cudaMemPoolSetAccess(pool, &grant, 1), cudaSuccess);
    EXPECT_EQ(access_of(pool, 1), cudaMemAccessFlagsProtReadWrite);
    const cudaMemAccessDesc revoke = access_from(1, cudaMemAccessFlagsProtNone);
    EXPECT_EQ(cudaMemPoolSetAccess(pool, &revoke, 1), cudaSuccess);
    EXPECT_EQ(access_of(pool, 1), cudaMemAccessFlagsProtNone);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

// Programming Guide, "Device Accessibility for Multi-GPU Support": access to pools is not
// controlled by cudaDeviceEnablePeerAccess but by cudaMemPoolSetAccess.
TEST_F(TwoDevicePoolTest, enabling_peer_access_does_not_open_pools) {
    require(cudaSetDevice(1));
    require(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT_EQ(access_of(default_pool(0), 1), cudaMemAccessFlagsProtNone);
    require(cudaDeviceDisablePeerAccess(0));
}

// cudaPointerAttributes::devicePointer: "If the memory cannot be directly accessed by the current
// device then this is NULL."
TEST_F(TwoDevicePoolTest, the_attributes_say_which_device_can_use_pool_memory) {
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties = properties_for(0);
    require(cudaMemPoolCreate(&pool, &properties));
    void* pointer = nullptr;
    require(cudaMallocFromPoolAsync(&pointer, 64, pool, cudaStreamLegacy));
    require(cudaStreamSynchronize(cudaStreamLegacy));
    require(cudaSetDevice(1));
    require(cudaDeviceEnablePeerAccess(0, 0));  // does not matter
    const auto usable_from = [pointer](int device) {
        cudaPointerAttributes attributes{};
        require(cudaSetDevice(device));
        EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
        EXPECT_EQ(attributes.device, 0);
        return attributes.devicePointer;
    };
    EXPECT_EQ(usable_from(0), pointer);
    EXPECT_EQ(usable_from(1), nullptr);
    const cudaMemAccessDesc grant = access_from(1, cudaMemAccessFlagsProtReadWrite);
    require(cudaMemPoolSetAccess(pool, &grant, 1));
    EXPECT_EQ(usable_from(1), pointer);
    require(cudaDeviceDisablePeerAccess(0));
    EXPECT_EQ(usable_from(1), pointer);
    require(cudaSetDevice(0));
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST_F(TwoDevicePoolTest, a_kernel_of_the_peer_uses_pool_memory_once_access_is_set) {
    cudaMemPool_t pool = nullptr;
    const cudaMemPoolProps properties = properties_for(0);
    require(cudaMemPoolCreate(&pool, &properties));
    const cudaMemAccessDesc grant = access_from(1, cudaMemAccessFlagsProtReadWrite);
    require(cudaMemPoolSetAccess(pool, &grant, 1));
    const Stream stream;
    void* pointer = nullptr;
    require(cudaMallocFromPoolAsync(&pointer, 64, pool, stream));
    require(cudaStreamSynchronize(stream));
    require(cudaSetDevice(1));
    EXPECT_EQ(launch(WriteValue{static_cast<std::uint32_t*>(pointer), 99}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    require(cudaSetDevice(0));
    std::uint32_t value = 0;
    EXPECT_EQ(cudaMemcpy(&value, pointer, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(value, 99u);
    EXPECT_EQ(cudaFreeAsync(pointer, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST_F(TwoDevicePoolTest, wrong_access_descriptions_are_errors) {
    const cudaMemPool_t pool = default_pool(0);
    const cudaMemAccessDesc nobody = access_from(device_count_, cudaMemAccessFlagsProtReadWrite);
    EXPECT_EQ(cudaMemPoolSetAccess(pool, &nobody, 1), cudaErrorInvalidDevice);
    const cudaMemAccessDesc own = access_from(0, cudaMemAccessFlagsProtNone);
    EXPECT_THAT(cudaMemPoolSetAccess(pool, &own, 1),
                testing::AnyOf(cudaErrorInvalidValue, cudaErrorInvalidDevice))
        << "a device keeps access to its own pool";
    cudaMemAccessDesc nowhere = access_from(1, cudaMemAccessFlagsProtReadWrite);
    nowhere.location.type = cudaMemLocationTypeInvalid;
    EXPECT_EQ(cudaMemPoolSetAccess(pool, &nowhere, 1), cudaErrorInvalidValue);
    cudaGetLastError();
}

}  // namespace

}  // namespace test
