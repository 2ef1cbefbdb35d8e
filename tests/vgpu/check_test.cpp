// Checking mode: every access of a block is checked, and a wrong one is reported with its reason.
#include <string>

#include "tests/vgpu/vgpu_fixture.hpp"

namespace test {

namespace {

using testing::AllOf;
using testing::HasSubstr;

class CheckTest : public VgpuTest {
protected:
    /// A store to `address` by a kernel on the current device: what the device says, and the
    /// report.
    struct Result {
        cudaError_t status;
        std::string report;
    };
    static Result store_to(std::uint32_t* address) {
        EXPECT_EQ(launch(WriteValue{address, 0xBAD}, nullptr), cudaSuccess);
        const cudaError_t status = cudaDeviceSynchronize();
        cudaGetLastError();
        return {status, vgpu::take_report()};
    }
    /// Every report says who it was.
    static testing::Matcher<const std::string&> blames(int device, const std::string& reason) {
        return AllOf(HasSubstr("device " + std::to_string(device)), HasSubstr("write_value"),
                     HasSubstr("block 0"), HasSubstr(reason));
    }
};

TEST_F(CheckTest, own_pinned_and_managed_memory_may_be_touched) {
    const DeviceWords device;
    const PinnedWords pinned;
    std::uint32_t* managed = nullptr;
    require(cudaMallocManaged(reinterpret_cast<void**>(&managed), 4, cudaMemAttachGlobal));
    for (std::uint32_t* const address : {device.data(), pinned.device_data(), managed}) {
        const Result result = store_to(address);
        EXPECT_EQ(result.status, cudaSuccess);
        EXPECT_EQ(result.report, "");
    }
    EXPECT_EQ(device.read(0), 0xBADu);
    require(cudaFree(managed));
}

TEST_F(CheckTest, a_store_past_the_end_is_out_of_bounds) {
    const DeviceWords words(64);
    const Result result = store_to(words.data() + 64);
    EXPECT_EQ(result.status, cudaErrorIllegalAddress);
    EXPECT_THAT(result.report, blames(0, "out of bounds"));
}

TEST_F(CheckTest, a_store_before_the_beginning_is_illegal) {
    const DeviceWords words(64);
    const Result result = store_to(words.data() - 1);
    EXPECT_EQ(result.status, cudaErrorIllegalAddress);
    EXPECT_THAT(result.report, blames(0, ""));
}

TEST_F(CheckTest, a_store_that_begins_inside_and_ends_outside_is_out_of_bounds) {
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, 6));
    const Result result = store_to(static_cast<std::uint32_t*>(pointer) + 1);
    EXPECT_EQ(result.status, cudaErrorIllegalAddress);
    EXPECT_THAT(result.report, blames(0, "out of bounds"));
}

TEST_F(CheckTest, freed_memory_is_named_as_such) {
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, 64));
    require(cudaFree(pointer));
    const Result result = store_to(static_cast<std::uint32_t*>(pointer));
    EXPECT_EQ(result.status, cudaErrorIllegalAddress);
    EXPECT_THAT(result.report, blames(0, "freed"));
}

TEST_F(CheckTest, null_and_ordinary_host_memory_are_illegal) {
    std::uint32_t on_stack = 0;
    EXPECT_EQ(store_to(&on_stack).status, cudaErrorIllegalAddress);
    EXPECT_EQ(on_stack, 0u) << "nothing was written";
    start(from_environment());
    EXPECT_EQ(store_to(nullptr).status, cudaErrorIllegalAddress);
}

TEST_F(CheckTest, unregistered_host_memory_is_illegal_again) {
    alignas(4096) static std::uint32_t words[1024];
    require(cudaHostRegister(words, sizeof(words), cudaHostRegisterMapped));
    EXPECT_EQ(store_to(words).status, cudaSuccess);
    require(cudaHostUnregister(words));
    EXPECT_EQ(store_to(words).status, cudaErrorIllegalAddress);
}

TEST_F(CheckTest, memory_of_a_peer_needs_access_and_the_report_says_so) {
    const DeviceWords word;
    require(cudaSetDevice(1));
    const Result result = store_to(word.data());
    EXPECT_EQ(result.status, cudaErrorIllegalAddress);
    EXPECT_THAT(result.report, AllOf(blames(1, "peer access"), HasSubstr("device 0")));
}

TEST_F(CheckTest, access_enabled_the_other_way_round_does_not_help) {
    require(cudaDeviceEnablePeerAccess(1, 0));
    const DeviceWords word;
    require(cudaSetDevice(1));
    EXPECT_EQ(store_to(word.data()).status, cudaErrorIllegalAddress);
}

TEST_F(CheckTest, access_ends_when_it_is_disabled) {
    enable_peers(0, 1);
    const DeviceWords word;
    require(cudaSetDevice(1));
    EXPECT_EQ(store_to(word.data()).status, cudaSuccess);
    require(cudaDeviceDisablePeerAccess(0));
    EXPECT_EQ(store_to(word.data()).status, cudaErrorIllegalAddress);
}

// Programming Guide, "Device Accessibility for Multi-GPU Support" of the stream ordered allocator.
TEST_F(CheckTest, memory_of_a_pool_needs_its_own_access_even_between_enabled_peers) {
    enable_peers(0, 1);
    const Stream stream;
    void* pointer = nullptr;
    require(cudaMallocAsync(&pointer, 64, stream));
    require(cudaStreamSynchronize(stream));
    require(cudaSetDevice(1));
    const Result result = store_to(static_cast<std::uint32_t*>(pointer));
    EXPECT_EQ(result.status, cudaErrorIllegalAddress);
    EXPECT_THAT(result.report, blames(1, "pool"));
}

TEST_F(CheckTest, flags_are_checked_like_data) {
    const DeviceWords words(4);
    EXPECT_EQ(launch(SignalFlag{words.data() + 4, 1}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_THAT(vgpu::take_report(), HasSubstr("signal_flag"));
    start(from_environment());
    EXPECT_EQ(launch(AwaitFlag{.flag = words.data()}, nullptr), cudaSuccess)
        << "its memory went with the machine";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(CheckTest, a_misaligned_pack_is_misaligned_address) {
    const DeviceWords words(16);
    EXPECT_EQ(launch(LoadPack{words.data(), words.data() + 1}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
    EXPECT_THAT(vgpu::take_report(), AllOf(HasSubstr("load_pack"), HasSubstr("16")));
}

TEST_F(CheckTest, a_failing_block_gives_its_reason) {
    EXPECT_EQ(launch(FailAssertion{}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
    EXPECT_THAT(vgpu::take_report(),
                AllOf(HasSubstr("fail_assertion"), HasSubstr("the test asked for it")));
}

// Freed in one stream, still used by another that is not ordered behind it.
TEST_F(CheckTest, pool_memory_that_is_freed_while_another_stream_uses_it_is_reported) {
    start(plain());
    const Stream user;
    const Stream owner;
    void* pointer = nullptr;
    require(cudaMallocAsync(&pointer, 64, owner));
    require(cudaStreamSynchronize(owner));
    Gate gate;
    gate.close(user);
    require(launch(WriteValue{static_cast<std::uint32_t*>(pointer), 1}, user));
    require(cudaFreeAsync(pointer, owner));
    require(cudaStreamSynchronize(owner));
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(user), cudaErrorIllegalAddress);
    EXPECT_THAT(vgpu::take_report(), HasSubstr("freed"));
}

// The error stays on the device where it happened (CUDA: in its context).
TEST_F(CheckTest, other_devices_go_on_after_an_illegal_address) {
    const DeviceWords words(64);
    require(cudaSetDevice(1));
    const DeviceWords other;
    require(cudaSetDevice(0));
    EXPECT_EQ(store_to(words.data() + 64).status, cudaErrorIllegalAddress);
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorIllegalAddress);
    require(cudaSetDevice(1));
    cudaGetLastError();
    EXPECT_EQ(launch(WriteValue{other.data(), 4}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(other.read(0), 4u);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Blocks of the device that wait for the failed one do not hang.
TEST_F(CheckTest, an_illegal_address_ends_the_other_blocks_of_the_device) {
    start(plain());
    const DeviceWords words(64);
    const PinnedWords never;
    const Stream waiting;
    const Stream failing;
    ASSERT_EQ(launch(AwaitFlag{.flag = never.device_data(), .timeout_ns = 0}, waiting),
              cudaSuccess);
    ASSERT_EQ(launch(WriteValue{words.data() + 64, 1}, failing), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(failing), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaStreamSynchronize(waiting), cudaErrorIllegalAddress);
}

TEST_F(CheckTest, the_report_is_taken_once) {
    const DeviceWords words(64);
    require(launch(WriteValue{words.data() + 64, 1}, nullptr));
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_NE(vgpu::last_report(), "");
    EXPECT_NE(vgpu::take_report(), "");
    EXPECT_EQ(vgpu::take_report(), "");
    EXPECT_EQ(vgpu::last_report(), "");
}

}  // namespace

}  // namespace test
