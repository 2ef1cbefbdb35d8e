// Errors: names, the last error of a thread, errors that stay.
// Rules: CUDA Runtime API, "Error Handling" and "cudaError_t"; Programming Guide, "Error Checking".
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using ErrorTest = CudaTest;

/// Errors that can't be undone happen in a process of their own. `body` runs there; its failed
/// expectations fail the test.
template <class Body>
void in_own_process(Body body) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto run = [&] {
        body();
        std::_Exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// cudaGetErrorName, cudaGetErrorString: need no device.
TEST(ErrorNames, name_is_the_enumerator_and_string_its_description) {
    const struct {
        cudaError_t code;
        const char* name;
        const char* text;
    } cases[] = {
        {cudaSuccess, "cudaSuccess", "no error"},
        {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
        {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
        {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
        {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
         "invalid configuration argument"},
        {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
         "invalid device function"},
        {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
         "CUDA driver version is insufficient for CUDA runtime version"},
        {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
        {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
        {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
         "invalid resource handle"},
        {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
        {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
         "an illegal memory access was encountered"},
        {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
         "too many resources requested for launch"},
        {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
         "peer access is already enabled"},
        {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
         "peer access has not been enabled"},
        {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
        {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
        {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
        {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
         "too many blocks in cooperative launch"},
        {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
        {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
         "operation not permitted when stream is capturing"},
        {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
         "operation failed due to a previous error during capture"},
        {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
    };
    for (const auto& example : cases) {
        EXPECT_STREQ(cudaGetErrorName(example.code), example.name);
        EXPECT_STREQ(cudaGetErrorString(example.code), example.text) << example.name;
    }
}

// "If the error code is not recognized, "unrecognized error code" is returned."
TEST(ErrorNames, unknown_codes_are_unrecognized) {
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
    EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

// cudaGetLastError: "Returns the last error ... and resets it to cudaSuccess"; cudaPeekAtLastError
// "does not reset".
TEST_F(ErrorTest, get_last_error_resets_and_peek_does_not) {
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(ErrorTest, a_call_that_succeeds_keeps_the_last_error_and_a_later_error_replaces_it) {
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

// "... in the same instance of the CUDA Runtime library in the host thread".
TEST_F(ErrorTest, the_last_error_belongs_to_the_host_thread) {
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    std::thread([] {
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        EXPECT_EQ(cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
        EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    }).join();
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

// Programming Guide, "Error Checking": "cudaErrorNotReady that may be returned by cudaStreamQuery()
// and cudaEventQuery() is not considered an error and is therefore not reported by
// cudaPeekAtLastError() or cudaGetLastError()".
TEST_F(ErrorTest, not_ready_is_no_error) {
    const Stream stream;
    const Event event;
    Gate gate;
    gate.close(stream);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    gate.open();
}

TEST_F(ErrorTest, a_rejected_launch_is_the_last_error_and_does_not_stay) {
    const DeviceWords word;
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr, {.block = dim3(0)}),
              cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 1u);
}

/// A kernel stores to an address that belongs to nobody.
cudaError_t launch_illegal_store(cudaStream_t stream) {
    return launch(WriteValue{reinterpret_cast<std::uint32_t*>(std::uintptr_t(0x100)), 1}, stream);
}

// cudaErrorIllegalAddress: "The device encountered a load or store instruction on an invalid memory
// address. This leaves the process in an inconsistent state and any further CUDA work will return
// the same error."
TEST_F(ErrorTest, an_illegal_store_is_reported_at_the_next_synchronisation_and_stays) {
    in_own_process([] {
        const DeviceWords word;
        const Stream stream;
        EXPECT_EQ(launch_illegal_store(stream), cudaSuccess) << "launches are asynchronous";
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
        void* pointer = nullptr;
        EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorIllegalAddress);
        EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
        EXPECT_EQ(cudaStreamQuery(stream), cudaErrorIllegalAddress)
            << "reading the last error does not help";
        EXPECT_EQ(launch(WriteValue{word.data(), 1}, stream), cudaErrorIllegalAddress);
        std::uint32_t value = 0;
        EXPECT_EQ(cudaMemcpy(&value, word.data(), 4, cudaMemcpyDeviceToHost),
                  cudaErrorIllegalAddress);
        EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    });
}

// cudaLaunchHostFunc: "the function will not be called in the event of an error in the CUDA
// context".
TEST_F(ErrorTest, host_functions_are_not_called_after_a_device_error) {
    in_own_process([] {
        bool called = false;
        const Stream stream;
        EXPECT_EQ(launch_illegal_store(stream), cudaSuccess);
        const cudaError_t enqueued = cudaLaunchHostFunc(
            stream, [](void* data) { *static_cast<bool*>(data) = true; }, &called);
        EXPECT_THAT(enqueued, testing::AnyOf(cudaSuccess, cudaErrorIllegalAddress));
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
        EXPECT_FALSE(called);
    });
}

// cudaErrorAssert: "An assert triggered in device code during kernel execution."
TEST_F(ErrorTest, a_device_side_assertion_stays) {
    in_own_process([] {
        EXPECT_EQ(launch(FailAssertion{}, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
        void* pointer = nullptr;
        EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorAssert);
    });
}

// cudaErrorMisalignedAddress: "a load or store instruction on a memory address which is not
// aligned".
TEST_F(ErrorTest, a_misaligned_16_byte_load_stays) {
    in_own_process([] {
        const DeviceWords words(16);
        EXPECT_EQ(launch(LoadPack{words.data(), words.data() + 4}, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "16 bytes at a multiple of 16";
        EXPECT_EQ(launch(LoadPack{words.data(), words.data() + 1}, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
    });
}

// Programming Guide, "Peer-to-Peer Memory Access": only after cudaDeviceEnablePeerAccess.
TEST_F(TwoDeviceTest, a_kernel_that_touches_a_peer_without_access_is_an_illegal_address) {
    in_own_process([] {
        const DeviceWords word;
        require(cudaSetDevice(1));
        EXPECT_EQ(launch(WriteValue{word.data(), 1}, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    });
}

}  // namespace

}  // namespace test
