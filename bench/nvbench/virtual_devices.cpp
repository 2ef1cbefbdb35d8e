// nvbench's questions about devices, answered by the runtime that the program is linked with: so it
// sees virtual GPUs. The nvbench of the wheel has a runtime of NVIDIA's inside, which would find no
// driver; a program's own definitions come before those of a shared library.
#include <nvbench/device_manager.cuh>

#include "cuda/check.hpp"

namespace nvbench {

device_info::device_info(int device_id)
    : m_id(device_id),
      m_prop(),
      m_nvml_device(nullptr),
      m_sm_default_clock_rate(0),
      m_global_memory_bus_peak_clock_rate(0) {
    rondo::check(cudaGetDeviceProperties(&m_prop, device_id));
}

device_info::memory_info device_info::get_global_memory_usage() const {
    return {m_prop.totalGlobalMem, m_prop.totalGlobalMem};
}

device_manager::device_manager() {
    int count = 0;
    rondo::check(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; ++device) m_devices.emplace_back(device);
}

}  // namespace nvbench
