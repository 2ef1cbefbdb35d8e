// What NVIDIA's management library tells: the NVLinks. It is loaded at run time, if it is there.
#pragma once

#include <string>
#include <vector>

namespace rondo::detection {

enum class NvlinkEnd { gpu, nvswitch, cpu, unknown };

struct Nvlink {
    NvlinkEnd end = NvlinkEnd::unknown;
    std::string bus_id;  ///< of the other end; empty where the library hides it
    int version = 0;     ///< as NVML numbers them, see fabric.cpp; 0: unknown
};

struct NvmlGpu {
    std::string bus_id;  ///< lower case
    std::string name;
    int pci_generation = 0;          ///< the most that device and slot can; 0: unknown
    int pci_width = 0;               ///< lanes; 0: unknown
    std::vector<Nvlink> links = {};  ///< those that are up
    int links_down = 0;              ///< those that exist but are not up
};

struct NvmlFacts {
    std::vector<NvmlGpu> gpus;
    std::string problem;  ///< why there are none, if so
};

/// `library`: what dlopen() is given. Never throws for what NVML says; it becomes the problem.
NvmlFacts read_nvml(const std::string& library);

}  // namespace rondo::detection
