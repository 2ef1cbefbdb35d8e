// The figures that NCCL's and RCCL's models assume, and the nominal ones beside them.
// NCCL's are those of version 2.30 (src/graph/topo.h, topo.cc), RCCL's those of src/graph/topo.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/graph/topology.hpp"

namespace rondo {

/// Bytes per second.
struct Bandwidth {
    std::int64_t nominal = 0;
    std::int64_t nccl = 0;

    friend Bandwidth operator*(Bandwidth bandwidth, std::int64_t factor) {
        return {bandwidth.nominal * factor, bandwidth.nccl * factor};
    }
    bool operator==(const Bandwidth&) const = default;
};

/// What a PCI class code means to NCCL.
enum class PciClass { pci_switch, nvswitch, cpu, gpu, nic };
PciClass pci_class(std::string_view code);

/// `speed` as the kernel spells it ("8 GT/s", "16.0 GT/s PCIe"); other spellings count as 8 GT/s, a
/// width of 0 as 16 lanes.
Bandwidth pci_bandwidth(std::string_view speed, int width);

/// A spelling of speed and width whose model bandwidth is `nccl`, or 8 GT/s x16.
struct PciLinkWords {
    std::string speed;
    int width;
};
PciLinkWords pci_words_for(std::int64_t nccl);

/// One NVLink of a GPU with compute capability sm / 10.
Bandwidth nvlink_bandwidth(int sm);

/// One XGMI link; `gcn` is "906", "910", "gfx90a", "gfx942", ...
Bandwidth xgmi_bandwidth(std::string_view gcn);

/// From this CPU to another one in the same machine.
Bandwidth inter_socket_bandwidth(const CpuInfo& cpu);

/// A CPU whose model bandwidth to others is `nccl`; a Skylake if there is none.
CpuInfo cpu_with_inter_socket_bandwidth(std::int64_t nccl);

/// A NIC port; zero or less counts as 10 Gbit/s.
Bandwidth net_bandwidth(int megabits_per_second);

/// Links inside one device: no bottleneck.
inline constexpr Bandwidth local_bandwidth{5'000'000'000'000, 5'000'000'000'000};

/// Broadcom PCIe switches show themselves as two levels although they are one crossbar. Whether
/// `lower`, below `upper`, is such an inner level.
bool is_same_crossbar(const PciInfo& upper, const PciInfo& lower);

}  // namespace rondo
