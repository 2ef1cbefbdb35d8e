#include "tests/vgpu/vgpu_fixture.hpp"

namespace test {

int VgpuTest::device_count() {
    int count = 0;
    require(cudaGetDeviceCount(&count));
    return count;
}

void VgpuTest::start(const vgpu::Options& options, int devices) {
    vgpu::reset(options);
    for (int device = std::min(devices, device_count()) - 1; device >= 0; --device) {
        require(cudaSetDevice(device));
        require(load_all_kernels());
    }
}

void VgpuTest::enable_peers(int first, int second) {
    const CurrentDevice current(first);
    require(cudaDeviceEnablePeerAccess(second, 0));
    require(cudaSetDevice(second));
    require(cudaDeviceEnablePeerAccess(first, 0));
}

}  // namespace test
