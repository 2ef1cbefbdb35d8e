// Pinned, registered and managed memory.
// Rules: CUDA Runtime API, "Memory Management" and "Unified Addressing".
#include <array>
#include <cstdlib>
#include <memory>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using HostMemoryTest = CudaTest;
using TwoDeviceHostMemoryTest = TwoDeviceTest;

/// Whole pages of ordinary memory.
class Pages {
public:
    explicit Pages(std::size_t count)
        : bytes_(count * 4096), data_(std::aligned_alloc(4096, bytes_), &std::free) {}
    std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_.get()); }
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    std::unique_ptr<void, decltype(&std::free)> data_;
};

// "Unified Addressing", "Automatic Mapping of Host Allocated Host Memory": all memory of
// cudaHostAlloc and cudaMallocHost is mapped, and its device pointer is the host pointer.
TEST_F(HostMemoryTest, pinned_memory_is_mapped_at_its_own_address) {
    for (const unsigned flags :
         {cudaHostAllocDefault, cudaHostAllocMapped, cudaHostAllocPortable}) {
        void* pointer = nullptr;
        ASSERT_EQ(cudaHostAlloc(&pointer, 4096, flags), cudaSuccess);
        void* on_device = nullptr;
        EXPECT_EQ(cudaHostGetDevicePointer(&on_device, pointer, 0), cudaSuccess);
        EXPECT_EQ(on_device, pointer);
        EXPECT_EQ(cudaFreeHost(pointer), cudaSuccess);
    }
}

// cudaPointerGetAttributes: "cudaMemoryTypeHost for registered host memory"; device is the one
// "which was current when the allocation was made".
TEST_F(TwoDeviceHostMemoryTest, attributes_of_pinned_memory) {
    require(cudaSetDevice(1));
    void* pointer = nullptr;
    require(cudaMallocHost(&pointer, 64));
    require(cudaSetDevice(0));
    const cudaPointerAttributes attributes = attributes_of(static_cast<char*>(pointer) + 3);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes.device, 1);
    EXPECT_EQ(attributes.hostPointer, static_cast<char*>(pointer) + 3);
    EXPECT_EQ(attributes.devicePointer, static_cast<char*>(pointer) + 3);
    EXPECT_EQ(cudaFreeHost(pointer), cudaSuccess);
}

// cudaHostAlloc: the memory is accessible to the device and to the host.
TEST_F(HostMemoryTest, a_kernel_writes_pinned_memory_and_the_host_sees_it_after_synchronising) {
    const PinnedWords words(2);
    words.store(20, 0);
    EXPECT_EQ(launch(CopyWords{words.device_data() + 1, words.device_data(), 1, 3}, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words.load(1), 23u);
}

// cudaHostAllocPortable: "considered as pinned memory by all CUDA contexts".
TEST_F(TwoDeviceHostMemoryTest, portable_memory_is_reached_by_kernels_of_every_device) {
    const PinnedWords words(2);
    for (int device : {1, 0}) {
        require(cudaSetDevice(device));
        EXPECT_EQ(launch(WriteValue{words.device_data() + device, 10u + device}, nullptr),
                  cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    EXPECT_EQ(words.load(0), 10u);
    EXPECT_EQ(words.load(1), 11u);
}

// cudaHostGetFlags: "the flags word ... used to allocate"; fails if the pointer "does not reside in
// an address range allocated by cudaHostAlloc()".
TEST_F(HostMemoryTest, flags_can_be_asked_for) {
    void* pointer = nullptr;
    require(cudaHostAlloc(&pointer, 64, cudaHostAllocMapped | cudaHostAllocPortable));
    unsigned flags = 0;
    EXPECT_EQ(cudaHostGetFlags(&flags, pointer), cudaSuccess);
    EXPECT_EQ(flags & (cudaHostAllocMapped | cudaHostAllocPortable),
              cudaHostAllocMapped | cudaHostAllocPortable);
    EXPECT_EQ(cudaFreeHost(pointer), cudaSuccess);
    int on_stack = 0;
    EXPECT_EQ(cudaHostGetFlags(&flags, &on_stack), cudaErrorInvalidValue);
    cudaGetLastError();
}

TEST_F(HostMemoryTest, wrong_use_is_invalid_value) {
    void* pointer = nullptr;
    int on_stack = 0;
    EXPECT_EQ(cudaHostAlloc(&pointer, 64, 0x8000), cudaErrorInvalidValue) << "unknown flag";
    EXPECT_EQ(cudaHostGetDevicePointer(&pointer, &on_stack, 0), cudaErrorInvalidValue)
        << "not pinned";
    EXPECT_EQ(cudaFreeHost(&on_stack), cudaErrorInvalidValue);
    const PinnedWords words;
    EXPECT_EQ(cudaHostGetDevicePointer(&pointer, words.data(), 1), cudaErrorInvalidValue)
        << "flags must be 0";
    cudaGetLastError();
}

// cudaFreeHost: the pointer "must have been returned by a previous call to cudaMallocHost() or
// cudaHostAlloc()".
TEST_F(HostMemoryTest, second_free_is_invalid_value) {
    void* pointer = nullptr;
    require(cudaMallocHost(&pointer, 64));
    EXPECT_EQ(cudaFreeHost(pointer), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(pointer), cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaHostRegister: page-locks memory of the caller; cudaHostUnregister makes it pageable again.
TEST_F(HostMemoryTest, registered_memory_is_host_memory_until_unregistered) {
    const Pages pages(2);
    ASSERT_EQ(cudaHostRegister(pages.words(), pages.bytes(),
                               cudaHostRegisterMapped | cudaHostRegisterPortable),
              cudaSuccess);
    EXPECT_EQ(attributes_of(pages.words()).type, cudaMemoryTypeHost);
    void* on_device = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(&on_device, pages.words(), 0), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{static_cast<std::uint32_t*>(on_device) + 1500, 9}, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(pages.words()[1500], 9u);
    EXPECT_EQ(cudaHostUnregister(pages.words()), cudaSuccess);
    EXPECT_EQ(attributes_of(pages.words()).type, cudaMemoryTypeUnregistered);
}

// cudaHostRegister: cudaErrorHostMemoryAlreadyRegistered; cudaHostUnregister:
// cudaErrorHostMemoryNotRegistered.
TEST_F(HostMemoryTest, registering_twice_and_unregistering_nothing_have_their_own_errors) {
    const Pages pages(1);
    require(cudaHostRegister(pages.words(), pages.bytes(), cudaHostRegisterDefault));
    EXPECT_EQ(cudaHostRegister(pages.words(), pages.bytes(), cudaHostRegisterDefault),
              cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(cudaHostUnregister(pages.words()), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(pages.words()), cudaErrorHostMemoryNotRegistered);
    EXPECT_EQ(cudaGetLastError(), cudaErrorHostMemoryNotRegistered);
}

TEST_F(HostMemoryTest, registering_nothing_is_invalid_value) {
    const Pages pages(1);
    EXPECT_EQ(cudaHostRegister(nullptr, 4096, cudaHostRegisterDefault), cudaErrorInvalidValue);
    EXPECT_EQ(cudaHostRegister(pages.words(), 0, cudaHostRegisterDefault), cudaErrorInvalidValue);
    EXPECT_EQ(cudaHostRegister(pages.words(), pages.bytes(), 0x8000), cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaMallocManaged: "The pointer is valid on the CPU and on all GPUs"; freed with cudaFree.
TEST_F(HostMemoryTest, managed_memory_has_one_pointer_for_all) {
    std::uint32_t* words = nullptr;
    ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&words), 8, cudaMemAttachGlobal),
              cudaSuccess);
    words[0] = 5;
    EXPECT_EQ(launch(CopyWords{words + 1, words, 1, 1}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(words[1], 6u);
    const cudaPointerAttributes attributes = attributes_of(words);
    EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
    EXPECT_EQ(attributes.devicePointer, words);
    EXPECT_EQ(attributes.hostPointer, words);
    EXPECT_EQ(cudaFree(words), cudaSuccess);
}

// cudaMallocManaged: "If size is 0, cudaMallocManaged returns cudaErrorInvalidValue"; flags must be
// one of two.
TEST_F(HostMemoryTest, managed_memory_of_zero_bytes_or_unknown_flags_is_invalid_value) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMallocManaged(&pointer, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMallocManaged(&pointer, 16, 0), cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaMemset: also for pinned host memory, and then not asynchronous.
TEST_F(HostMemoryTest, memset_of_pinned_memory_is_done_when_it_returns) {
    const PinnedWords words(4);
    EXPECT_EQ(cudaMemset(words.data(), 0x22, 16), cudaSuccess);
    EXPECT_EQ(words.load(3), 0x22222222u);
}

}  // namespace

}  // namespace test
