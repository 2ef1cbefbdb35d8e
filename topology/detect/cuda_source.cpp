// What the CUDA runtime tells about the GPUs: who they are and whose memory they reach.
#include "topology/detect/cuda_source.hpp"

#include <algorithm>
#include <cctype>

#include "cuda/device.hpp"
#include "cuda/peer.hpp"
#include "rondo/error.hpp"

namespace rondo::detection {
namespace {

CudaGpu read_gpu(DeviceId device) {
    const cudaDeviceProp properties = device_properties(device);
    CudaGpu gpu{.bus_id = device_bus_id(device),
                .name = properties.name,
                .compute_major = properties.major,
                .compute_minor = properties.minor,
                .memory_bytes = properties.totalGlobalMem,
                .integrated = properties.integrated != 0};
    std::ranges::transform(gpu.bus_id, gpu.bus_id.begin(),
                           [](unsigned char c) { return std::tolower(c); });
    return gpu;
}

void read_pairs(const std::vector<DeviceId>& devices, CudaFacts& facts) {
    for (const DeviceId from : devices) {
        for (const DeviceId to : devices) {
            const bool reaches = can_access_peer(from, to);
            facts.access.push_back(reaches);
            facts.atomics.push_back(
                from != to && reaches &&
                peer_attribute({from, to}, cudaDevP2PAttrNativeAtomicSupported) != 0);
        }
    }
}

}  // namespace

CudaFacts read_cuda() {
    CudaFacts facts;
    try {
        const std::vector<DeviceId> devices = all_devices();
        for (const DeviceId device : devices) facts.gpus.push_back(read_gpu(device));
        read_pairs(devices, facts);
        if (devices.empty()) facts.problem = "no device";
    } catch (const Error& error) {
        facts = {};
        facts.problem = error.what();
    }
    return facts;
}

}  // namespace rondo::detection
