// The figures that NCCL's and RCCL's models assume, and the nominal ones beside them.
#include "topology/xml/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace rondo {
namespace {

constexpr std::int64_t megabyte = 1'000'000;

/// One lane of PCI Express. The model's figure is in units of 100 Mbit/s; the nominal one counts
/// the line code: 8b/10b, from 8 GT/s 128b/130b, at 64 GT/s the flits.
struct PciGeneration {
    std::string_view speed;
    std::string_view speed_with_suffix;  ///< how kernels from 5.7 on write it
    int model_100_megabits;
    double nominal_gigabytes;
};

constexpr std::array<PciGeneration, 6> pci_generations{{
    {"2.5 GT/s", "2.5 GT/s PCIe", 15, 2.5 * 8 / 10 / 8},
    {"5 GT/s", "5.0 GT/s PCIe", 30, 5.0 * 8 / 10 / 8},
    {"8 GT/s", "8.0 GT/s PCIe", 60, 8.0 * 128 / 130 / 8},
    {"16 GT/s", "16.0 GT/s PCIe", 120, 16.0 * 128 / 130 / 8},
    {"32 GT/s", "32.0 GT/s PCIe", 240, 32.0 * 128 / 130 / 8},
    {"", "64.0 GT/s PCIe", 480, 64.0 * 242 / 256 / 8},
}};
constexpr const PciGeneration& unknown_generation = pci_generations[2];

Bandwidth pci_bandwidth(const PciGeneration& generation, int width) {
    // Rounded to whole megabytes per second, as data sheets do: 15.754 GB/s for 8 GT/s x16.
    const double nominal = std::round(generation.nominal_gigabytes * width * 1000);
    return {static_cast<std::int64_t>(nominal) * megabyte,
            std::int64_t{generation.model_100_megabits} * width * 1000 * megabyte / 80};
}

Bandwidth megabytes(std::int64_t nominal, std::int64_t nccl) {
    return {nominal * megabyte, nccl * megabyte};
}

/// A CPU family and its links to other sockets. Nominal: transfers per second x 2 bytes.
struct Socket {
    std::string_view arch;
    std::string_view vendor;
    int family;  ///< 0: any
    int model;   ///< this one and newer ones, where the table has no better line
    Bandwidth bandwidth;
};

/// The first line that fits counts.
const std::array<Socket, 9> sockets{{
    {"ppc64", "", 0, 0, megabytes(32'000, 32'000)},
    {"arm64", "", 0, 0, megabytes(6'000, 6'000)},
    {"x86_64", "GenuineIntel", 6, 0xcf, megabytes(40'000, 40'000)},  // 20 GT/s
    {"x86_64", "GenuineIntel", 6, 0x8f, megabytes(32'000, 22'000)},  // 16 GT/s
    {"x86_64", "GenuineIntel", 6, 0x55, megabytes(20'800, 10'000)},  // 10.4 GT/s
    {"x86_64", "GenuineIntel", 0, 0, megabytes(19'200, 6'000)},      // 9.6 GT/s
    {"x86_64", "AuthenticAMD", 0, 0, megabytes(32'000, 16'000)},     // 16 GT/s
    {"x86_64", "CentaurHauls", 0, 0, megabytes(6'000, 6'000)},
    {"x86_64", "  Shanghai  ", 0, 0, megabytes(6'000, 6'000)},
}};
constexpr int yongfeng_family = 7;
constexpr int yongfeng_model = 0x5b;

bool fits(const Socket& socket, const CpuInfo& cpu) {
    if (socket.arch != cpu.arch) return false;
    if (!socket.vendor.empty() && socket.vendor != cpu.vendor) return false;
    if (socket.family == 0) return true;
    return cpu.family == socket.family && cpu.model.value_or(0) >= socket.model;
}

bool is_zhaoxin(const CpuInfo& cpu) {
    return cpu.arch == "x86_64" && (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ");
}

/// "0x1000" as a number; 0 if it is none.
std::uint64_t hexadecimal(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value & 0xffff;
}

/// Which Broadcom generation a switch is, as the outer (0) or inner (1) level of the two.
int crossbar_generation(const PciInfo& pci, std::uint64_t level) {
    const std::uint64_t id = hexadecimal(pci.vendor) << 48 | hexadecimal(pci.device) << 32 |
                             hexadecimal(pci.subsystem_vendor) << 16 |
                             (hexadecimal(pci.subsystem_device) & 0xf000);
    if (id == 0x1000'c010'1000'a000) return 4;
    if (id == (0x1000'c030'1000'0000 | level << 12)) return 5;
    return 0;
}

}  // namespace

PciClass pci_class(std::string_view code) {
    if (code.starts_with("0x068000")) return PciClass::nvswitch;
    if (code.starts_with("0x068001")) return PciClass::cpu;
    if (code.starts_with("0x03")) return PciClass::gpu;
    if (code.starts_with("0x02")) return PciClass::nic;
    return PciClass::pci_switch;  // 0x060400, 0x080100 and everything else
}

Bandwidth pci_bandwidth(std::string_view speed, int width) {
    const auto found = std::ranges::find_if(pci_generations, [speed](const PciGeneration& lane) {
        return speed == lane.speed_with_suffix || (!lane.speed.empty() && speed == lane.speed);
    });
    const bool known = found != pci_generations.end();
    return pci_bandwidth(known ? *found : unknown_generation, width == 0 ? 16 : width);
}

PciLinkWords pci_words_for(std::int64_t nccl) {
    for (const int width : {16, 8, 4, 2, 1}) {
        for (const PciGeneration& lane : pci_generations) {
            if (pci_bandwidth(lane, width).nccl == nccl) {
                return {std::string(lane.speed_with_suffix), width};
            }
        }
    }
    return {std::string(unknown_generation.speed_with_suffix), 16};
}

Bandwidth nvlink_bandwidth(int sm) {
    if (sm >= 100) return megabytes(50'000, 40'100);
    if (sm >= 90) return megabytes(25'000, 20'600);
    if (sm == 86) return {14'062'500'000, 12'000'000'000};
    if (sm < 60 || sm >= 70) return megabytes(25'000, 20'000);
    return megabytes(20'000, 18'000);
}

Bandwidth xgmi_bandwidth(std::string_view gcn) {
    if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
    if (gcn.starts_with("95")) return megabytes(76'800, 48'000);
    if (gcn.starts_with("94")) return megabytes(64'000, 48'000);
    if (gcn.starts_with("90a") || gcn.starts_with("910")) return megabytes(50'000, 36'000);
    return megabytes(46'000, 24'000);
}

Bandwidth inter_socket_bandwidth(const CpuInfo& cpu) {
    if (is_zhaoxin(cpu) && cpu.family == yongfeng_family && cpu.model == yongfeng_model) {
        return megabytes(9'000, 9'000);
    }
    const auto found =
        std::ranges::find_if(sockets, [&cpu](const Socket& socket) { return fits(socket, cpu); });
    return found == sockets.end() ? local_bandwidth : found->bandwidth;
}

CpuInfo cpu_with_inter_socket_bandwidth(std::int64_t nccl) {
    const auto x86 = [](const char* vendor, int family, int model) {
        return CpuInfo{.arch = "x86_64", .vendor = vendor, .family = family, .model = model};
    };
    const std::array<CpuInfo, 7> cpus{x86("GenuineIntel", 6, 0x55),
                                      x86("GenuineIntel", 6, 79),
                                      x86("GenuineIntel", 6, 0x8f),
                                      x86("GenuineIntel", 6, 0xcf),
                                      x86("AuthenticAMD", 23, 49),
                                      CpuInfo{.arch = "ppc64"},
                                      x86("CentaurHauls", yongfeng_family, yongfeng_model)};
    const auto found = std::ranges::find_if(
        cpus, [nccl](const CpuInfo& cpu) { return inter_socket_bandwidth(cpu).nccl == nccl; });
    return found == cpus.end() ? cpus[0] : *found;
}

Bandwidth net_bandwidth(int megabits_per_second) {
    constexpr int unknown = 10'000;
    const std::int64_t speed = megabits_per_second > 0 ? megabits_per_second : unknown;
    return {speed * megabyte / 8, speed * megabyte / 8};
}

bool is_same_crossbar(const PciInfo& upper, const PciInfo& lower) {
    const int generation = crossbar_generation(upper, 0);
    return generation != 0 && crossbar_generation(lower, 1) == generation;
}

}  // namespace rondo
