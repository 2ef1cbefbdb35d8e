// Devices by name: ids, properties, and that the caller's current device is left alone.
#include "cuda/device.hpp"

#include <sstream>
#include <string>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "tests/vgpu/cuda_fixture.hpp"

namespace rondo {

namespace {

using DeviceTest = test::CudaTest;
using TwoDeviceTest = test::TwoDeviceTest;

int current_device() {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    return device;
}

TEST_F(DeviceTest, ids_compare_and_print) {
    EXPECT_EQ(DeviceId(3), DeviceId(3));
    EXPECT_LT(DeviceId(1), DeviceId(2));
    EXPECT_EQ(DeviceId(5).value(), 5);
    std::ostringstream text;
    text << DeviceId(4);
    EXPECT_EQ(text.str(), "device 4");
    static_assert(!std::is_convertible_v<int, DeviceId>,
                  "a rank must not become a device by accident");
}

TEST_F(DeviceTest, all_devices_are_counted_from_zero) {
    EXPECT_EQ(device_count(), device_count_);
    const auto devices = all_devices();
    ASSERT_EQ(devices.size(), static_cast<std::size_t>(device_count_));
    EXPECT_EQ(devices.front(), DeviceId(0));
    EXPECT_EQ(devices.back(), DeviceId(device_count_ - 1));
}

TEST_F(DeviceTest, properties_attributes_bus_id_and_memory_are_those_of_cuda) {
    const DeviceId device(0);
    EXPECT_EQ(device_properties(device).multiProcessorCount,
              device_attribute(device, cudaDevAttrMultiProcessorCount));
    int found = -1;
    EXPECT_EQ(cudaDeviceGetByPCIBusId(&found, device_bus_id(device).c_str()), cudaSuccess);
    EXPECT_EQ(found, 0);
    const MemoryInfo memory = device_memory(device);
    EXPECT_GT(memory.total_bytes, 0u);
    EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

TEST_F(DeviceTest, unknown_devices_throw_with_their_number) {
    const DeviceId nobody(device_count_);
    EXPECT_THROW(device_properties(nobody), CudaError);
    EXPECT_THROW(device_attribute(nobody, cudaDevAttrWarpSize), CudaError);
    EXPECT_THROW(device_bus_id(nobody), CudaError);
    try {
        device_memory(nobody);
        FAIL() << "must throw";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
        EXPECT_THAT(error.what(),
                    testing::HasSubstr("cudaSetDevice(" + std::to_string(device_count_) + ")"));
    }
    EXPECT_EQ(current_device(), 0);
}

TEST_F(TwoDeviceTest, a_guard_puts_the_previous_device_back) {
    {
        const DeviceGuard guard(DeviceId(1));
        EXPECT_EQ(current_device(), 1);
        {
            const DeviceGuard inner(DeviceId(0));
            EXPECT_EQ(current_device(), 0);
        }
        EXPECT_EQ(current_device(), 1);
    }
    EXPECT_EQ(current_device(), 0);
}

TEST_F(TwoDeviceTest, queries_leave_the_current_device_alone) {
    device_memory(DeviceId(1));
    synchronize_device(DeviceId(1));
    EXPECT_EQ(current_device(), 0);
}

}  // namespace

}  // namespace rondo
