// check(): what the exception says, and that the error is not found a second time.
#include "cuda/check.hpp"

#include <functional>
#include <string>

#include "cuda/device_guard.hpp"
#include "cuda/peer.hpp"
#include "tests/vgpu/cuda_fixture.hpp"

namespace rondo {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using CheckTest = test::CudaTest;

TEST_F(CheckTest, success_passes) {
    EXPECT_NO_THROW(check(cudaSuccess));
}

TEST_F(CheckTest, the_message_names_call_error_place_and_device) {
    unsigned line = 0;
    try {
        line = __LINE__ + 1;
        check(cudaErrorMemoryAllocation, "cudaMalloc");
        FAIL() << "must throw";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code(), cudaErrorMemoryAllocation);
        EXPECT_EQ(error.what(),
                  "cudaMalloc: cudaErrorMemoryAllocation (out of memory) at check_test.cpp:" +
                      std::to_string(line) + ", device 0");
    }
}

TEST_F(CheckTest, a_cuda_error_is_an_error) {
    EXPECT_THROW(check(cudaErrorInvalidValue), Error);
    EXPECT_THROW(check(cudaErrorInvalidValue), std::runtime_error);
}

TEST_F(CheckTest, the_last_error_is_reset_because_the_exception_carries_it) {
    EXPECT_THROW(check(cudaSetDevice(-1), "cudaSetDevice"), CudaError);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CheckTest, destructors_write_one_line_to_stderr_instead) {
    testing::internal::CaptureStderr();
    check_noexcept(cudaSetDevice(-1), "cudaSetDevice");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("rondo: cudaSetDevice: cudaErrorInvalidDevice"),
                      HasSubstr("check_test.cpp:")));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

using TwoDeviceCheckTest = test::TwoDeviceTest;

std::string failure_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const CudaError& error) {
        return error.what();
    }
    return "nothing failed";
}

// The current device is 0 in all of them.
TEST_F(TwoDeviceCheckTest, the_device_is_the_one_that_the_call_was_for) {
    using testing::EndsWith;
    const DeviceId missing(device_count_);
    const std::string number = std::to_string(device_count_);
    EXPECT_THAT(failure_of([] { check(cudaErrorInvalidValue, "call", DeviceId(1)); }),
                EndsWith(", device 1"));
    EXPECT_THAT(failure_of([&] { const DeviceGuard guard(missing); }),
                AllOf(HasSubstr("cudaErrorInvalidDevice"), EndsWith(", device " + number)));
    EXPECT_THAT(failure_of([&] { device_properties(missing); }), EndsWith(", device " + number));
    EXPECT_THAT(failure_of([&] { device_attribute(missing, cudaDevAttrWarpSize); }),
                EndsWith(", device " + number));
    EXPECT_THAT(failure_of([&] { can_access_peer(DeviceId(1), missing); }),
                AllOf(HasSubstr("for peer " + number), EndsWith(", device 1")));
    EXPECT_THAT(failure_of([] {
                    const DeviceGuard guard(DeviceId(1));
                    check(cudaErrorInvalidValue, "call");
                }),
                EndsWith(", device 1"));
}

}  // namespace

}  // namespace rondo
