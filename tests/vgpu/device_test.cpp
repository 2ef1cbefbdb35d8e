// Device management: count, current device, properties, attributes, PCI bus ids, reset.
// Rules: CUDA Runtime API, "Device Management" and "Version Management".
#include <array>
#include <set>
#include <string>
#include <thread>

#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using DeviceTest = CudaTest;
using TwoDevices = TwoDeviceTest;

int attribute(cudaDeviceAttr name, int device = 0) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, name, device), cudaSuccess);
    return value;
}

std::string bus_id(int device) {
    std::array<char, 32> text{};
    EXPECT_EQ(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device),
              cudaSuccess);
    return text.data();
}

// cudaRuntimeGetVersion: "1000 * major + 10 * minor"; cudaDriverGetVersion: the driver must not be
// older.
TEST_F(DeviceTest, runtime_version_is_the_one_of_the_headers_and_the_driver_is_not_older) {
    int runtime = 0;
    int driver = 0;
    EXPECT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
    EXPECT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
    EXPECT_EQ(runtime / 1000, CUDART_VERSION / 1000);
    EXPECT_GE(driver / 1000, runtime / 1000);
}

// cudaSetDevice: "Valid device id's are 0 to (cudaGetDeviceCount() - 1)", else
// cudaErrorInvalidDevice.
TEST_F(DeviceTest, invalid_ordinals_are_rejected_and_leave_the_current_device_alone) {
    EXPECT_EQ(cudaSetDevice(device_count_), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 0);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

// cudaGetDevice: "the current device for the calling host thread"; the default is device 0.
TEST_F(TwoDevices, the_current_device_belongs_to_the_host_thread) {
    require(cudaSetDevice(1));
    int seen_by_thread = -1;
    std::thread([&] {
        cudaGetDevice(&seen_by_thread);
        cudaSetDevice(0);
    }).join();
    EXPECT_EQ(seen_by_thread, 0);
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 1);
}

// cudaInitDevice: "the context will not be made current to device".
TEST_F(TwoDevices, init_device_does_not_make_it_current) {
    EXPECT_EQ(cudaInitDevice(1, 0, 0), cudaSuccess);
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 0);
    EXPECT_EQ(cudaInitDevice(device_count_, 0, 0), cudaErrorInvalidDevice);
    cudaGetLastError();
}

// cudaGetDeviceProperties, cudaDeviceGetAttribute: two views of the same facts.
TEST_F(DeviceTest, properties_and_attributes_agree_on_every_device) {
    for (int device = 0; device < device_count_; ++device) {
        cudaDeviceProp properties{};
        ASSERT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
        EXPECT_NE(std::string(properties.name), "");
        EXPECT_GT(properties.totalGlobalMem, 0u);
        EXPECT_EQ(properties.major, attribute(cudaDevAttrComputeCapabilityMajor, device));
        EXPECT_EQ(properties.minor, attribute(cudaDevAttrComputeCapabilityMinor, device));
        EXPECT_EQ(properties.multiProcessorCount,
                  attribute(cudaDevAttrMultiProcessorCount, device));
        EXPECT_EQ(properties.maxThreadsPerBlock, attribute(cudaDevAttrMaxThreadsPerBlock, device));
        EXPECT_EQ(properties.maxThreadsPerMultiProcessor,
                  attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device));
        EXPECT_EQ(properties.maxThreadsDim[0], attribute(cudaDevAttrMaxBlockDimX, device));
        EXPECT_EQ(properties.maxThreadsDim[1], attribute(cudaDevAttrMaxBlockDimY, device));
        EXPECT_EQ(properties.maxThreadsDim[2], attribute(cudaDevAttrMaxBlockDimZ, device));
        EXPECT_EQ(properties.maxGridSize[0], attribute(cudaDevAttrMaxGridDimX, device));
        EXPECT_EQ(properties.maxGridSize[1], attribute(cudaDevAttrMaxGridDimY, device));
        EXPECT_EQ(properties.maxGridSize[2], attribute(cudaDevAttrMaxGridDimZ, device));
        EXPECT_EQ(properties.warpSize, attribute(cudaDevAttrWarpSize, device));
        EXPECT_EQ(properties.sharedMemPerBlock,
                  static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock, device)));
        EXPECT_EQ(
            properties.sharedMemPerBlockOptin,
            static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device)));
        EXPECT_EQ(properties.cooperativeLaunch, attribute(cudaDevAttrCooperativeLaunch, device));
        EXPECT_EQ(properties.unifiedAddressing, attribute(cudaDevAttrUnifiedAddressing, device));
        EXPECT_EQ(properties.canMapHostMemory, attribute(cudaDevAttrCanMapHostMemory, device));
        EXPECT_EQ(properties.concurrentKernels, attribute(cudaDevAttrConcurrentKernels, device));
        EXPECT_EQ(properties.asyncEngineCount, attribute(cudaDevAttrAsyncEngineCount, device));
        EXPECT_EQ(properties.memoryPoolsSupported,
                  attribute(cudaDevAttrMemoryPoolsSupported, device));
        EXPECT_EQ(properties.pciBusID, attribute(cudaDevAttrPciBusId, device));
        EXPECT_EQ(properties.pciDeviceID, attribute(cudaDevAttrPciDeviceId, device));
        EXPECT_EQ(properties.pciDomainID, attribute(cudaDevAttrPciDomainId, device));
    }
}

// CUDA Programming Guide, "Technical Specifications per Compute Capability".
TEST_F(DeviceTest, limits_are_those_of_a_cuda_device) {
    EXPECT_EQ(attribute(cudaDevAttrWarpSize), 32);
    EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerBlock), 1024);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimX), 1024);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), 64);
    EXPECT_EQ(attribute(cudaDevAttrMaxGridDimX), 2147483647);
    EXPECT_EQ(attribute(cudaDevAttrMaxGridDimY), 65535);
    EXPECT_GE(attribute(cudaDevAttrMaxSharedMemoryPerBlock), 48 * 1024);
    EXPECT_GE(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
              attribute(cudaDevAttrMaxSharedMemoryPerBlock));
    EXPECT_EQ(attribute(cudaDevAttrUnifiedAddressing), 1);
    EXPECT_EQ(attribute(cudaDevAttrCanMapHostMemory), 1);
    EXPECT_EQ(attribute(cudaDevAttrCooperativeLaunch), 1);
}

// cudaDeviceGetAttribute: cudaErrorInvalidDevice, cudaErrorInvalidValue.
TEST_F(DeviceTest, queries_reject_what_does_not_exist) {
    int value = 0;
    cudaDeviceProp properties{};
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device_count_),
              cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(255), 0),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, device_count_), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceGetPCIBusId(properties.name, 32, device_count_), cudaErrorInvalidDevice);
    cudaGetLastError();
}

// cudaDeviceGetPCIBusId: "[domain]:[bus]:[device].[function]", all hexadecimal.
TEST_F(DeviceTest, bus_ids_are_unique_well_formed_and_agree_with_the_properties) {
    std::set<std::string> seen;
    for (int device = 0; device < device_count_; ++device) {
        const std::string id = bus_id(device);
        unsigned domain = 0;
        unsigned bus = 0;
        unsigned slot = 0;
        unsigned function = 0;
        ASSERT_EQ(std::sscanf(id.c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function), 4) << id;
        EXPECT_EQ(static_cast<int>(domain), attribute(cudaDevAttrPciDomainId, device));
        EXPECT_EQ(static_cast<int>(bus), attribute(cudaDevAttrPciBusId, device));
        EXPECT_EQ(static_cast<int>(slot), attribute(cudaDevAttrPciDeviceId, device));
        EXPECT_TRUE(seen.insert(id).second) << id << " twice";
    }
}

// cudaDeviceGetByPCIBusId: "[domain]:[bus]:[device].[function]", "[domain]:[bus]:[device]",
// "[bus]:[device].[function]".
TEST_F(DeviceTest, bus_ids_lead_back_to_the_device_in_all_three_forms) {
    for (int device = 0; device < device_count_; ++device) {
        const std::string full = bus_id(device);
        std::vector<std::string> forms = {full, full.substr(0, full.rfind('.'))};
        if (attribute(cudaDevAttrPciDomainId, device) == 0) {
            forms.push_back(full.substr(full.find(':') + 1));
        }
        for (const std::string& form : forms) {
            int found = -1;
            EXPECT_EQ(cudaDeviceGetByPCIBusId(&found, form.c_str()), cudaSuccess) << form;
            EXPECT_EQ(found, device) << form;
        }
    }
}

TEST_F(DeviceTest, bus_ids_of_nothing_and_short_strings_are_errors) {
    int found = -1;
    EXPECT_EQ(cudaDeviceGetByPCIBusId(&found, "fffe:fe:1e.0"), cudaErrorInvalidDevice);
    EXPECT_THAT(cudaDeviceGetByPCIBusId(&found, "nonsense"),
                testing::AnyOf(cudaErrorInvalidValue, cudaErrorInvalidDevice));
    std::array<char, 4> too_small{};
    EXPECT_EQ(cudaDeviceGetPCIBusId(too_small.data(), static_cast<int>(too_small.size()), 0),
              cudaErrorInvalidValue);
    cudaGetLastError();
}

// cudaDeviceSynchronize: "Blocks until the device has completed all preceding requested tasks", in
// all streams.
TEST_F(DeviceTest, device_synchronize_waits_for_all_streams) {
    const DeviceWords word(3);
    const Stream first;
    const Stream second(cudaStreamDefault);
    EXPECT_EQ(launch(WriteValue{word.data(), 1}, first), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{word.data() + 1, 2}, second), cudaSuccess);
    EXPECT_EQ(launch(WriteValue{word.data() + 2, 3}, cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(first), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(second), cudaSuccess);
    EXPECT_THAT(word.read(), testing::ElementsAre(1, 2, 3));
}

// cudaDeviceReset: "Explicitly destroys and cleans up all resources associated with the current
// device"; "Any subsequent API call to this device will reinitialize the device".
TEST_F(DeviceTest, reset_gives_the_memory_back_and_the_device_can_be_used_again) {
    std::size_t before = 0;
    std::size_t during = 0;
    std::size_t after = 0;
    std::size_t total = 0;
    constexpr std::size_t bytes = 64 << 20;
    require(cudaDeviceReset());
    require(cudaMemGetInfo(&before, &total));
    void* lost = nullptr;
    require(cudaMalloc(&lost, bytes));
    require(cudaMemGetInfo(&during, &total));
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
    EXPECT_LE(during + bytes, before);
    EXPECT_GE(after, during + bytes);
    const DeviceWords word;
    EXPECT_EQ(launch(WriteValue{word.data(), 7}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(word.read(0), 7u);
}

// cudaDeviceReset: "on the current device in the current process": other devices keep what they
// have.
TEST_F(TwoDevices, reset_touches_only_the_current_device) {
    const DeviceWords kept;
    kept.write({42});
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    require(cudaSetDevice(0));
    EXPECT_EQ(kept.read(0), 42u);
}

}  // namespace

}  // namespace test
