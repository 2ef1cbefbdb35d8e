// What the Linux kernel tells in /sys and /proc: the PCI tree, NUMA domains, CPUs, NICs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "topology/graph/details.hpp"

namespace rondo::detection {

struct PciDevice {
    PciInfo info;                    ///< link speed and width: the most that device and slot can
    std::vector<std::string> above;  ///< bus ids of the bridges, from the root port down
    int numa = -1;                   ///< -1: the kernel does not know
};

struct NicPort {
    NetInfo net;
    int megabits_per_second = 0;  ///< 0: unknown
};

struct Nic {
    std::string bus_id;
    std::vector<NicPort> ports;
};

struct SysfsFacts {
    std::map<std::string, PciDevice> devices;  ///< all that the kernel shows, by bus id
    std::vector<Nic> nics;                     ///< by bus id
    std::map<int, CpuInfo> cpus;               ///< by NUMA domain
    std::string problem;                       ///< why there are no devices, if so
};

/// `root` holds sys and proc. Never throws for what is in there.
SysfsFacts read_sysfs(const std::filesystem::path& root);

/// The NUMA domains; one of number 0 where the kernel shows none.
std::map<int, CpuInfo> read_cpus(const std::filesystem::path& root);

}  // namespace rondo::detection
