// What is known about a node beyond its type and wiring. Schedules do not need it; files that come
// from a real machine keep it, so that reading and writing them loses nothing.
#pragma once

#include <optional>
#include <string>

namespace rondo {

/// A PCI device, in the words of the kernel: "0x060400", "16.0 GT/s PCIe". Empty means unknown.
struct PciInfo {
    std::string bus_id = {};  ///< "0000:03:00.0"; empty for a GPU, whose bus id is in GpuInfo
    std::string device_class = {};
    std::string vendor = {};
    std::string device = {};
    std::string subsystem_vendor = {};
    std::string subsystem_device = {};
    std::string link_speed = {};
    std::optional<int> link_width = {};  ///< lanes

    bool operator==(const PciInfo&) const = default;
};

/// A NUMA domain.
struct CpuInfo {
    int numa_id = 0;            ///< -1 where the machine does not tell
    std::string affinity = {};  ///< hexadecimal mask of its cores: "0fffff00,000fffff"
    std::string arch = {};      ///< x86_64, arm64, ppc64
    std::string vendor = {};    ///< GenuineIntel, AuthenticAMD, ...
    std::optional<int> family = {};
    std::optional<int> model = {};
    std::string host_hash = {};  ///< tells machines apart in a file that describes several

    bool operator==(const CpuInfo&) const = default;
};

/// How NCCL or RCCL numbers a GPU, where that differs from its place in the topology.
struct RankInfo {
    int device = 0;
    int rank = 0;
    bool gpu_direct = true;      ///< NICs may read and write its memory
    std::optional<int> sm = {};  ///< the figure in the file, where it is no compute capability
    std::string gcn = {};        ///< AMD: "910" or "gfx90a"
    std::string arch = {};       ///< AMD: bit mask of the architecture

    bool operator==(const RankInfo&) const = default;
};

/// A port of a NIC. Its speed and latency are those of its network links.
struct NetInfo {
    int device = 0;
    std::string name = {};
    std::string guid = {};
    std::optional<int> port = {};
    std::optional<int> max_connections = {};
    std::optional<int> gpu_direct = {};
    std::optional<int> collectives = {};
    std::optional<int> gin = {};
    std::optional<int> rma = {};
    std::optional<int> rail = {};
    std::optional<int> plane = {};

    bool operator==(const NetInfo&) const = default;
};

}  // namespace rondo
