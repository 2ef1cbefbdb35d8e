// NCCL's and RCCL's figures, line by line.
#include "topology/xml/rules.hpp"

#include <gtest/gtest.h>

namespace rondo {
namespace {

constexpr std::int64_t giga = 1'000'000'000;

TEST(Rules, PciBandwidthInTheModelIsLanesTimesRateOver80) {
    EXPECT_EQ(pci_bandwidth("2.5 GT/s", 16).nccl, 3 * giga);
    EXPECT_EQ(pci_bandwidth("5 GT/s", 16).nccl, 6 * giga);
    EXPECT_EQ(pci_bandwidth("8 GT/s", 16).nccl, 12 * giga);
    EXPECT_EQ(pci_bandwidth("16 GT/s", 16).nccl, 24 * giga);
    EXPECT_EQ(pci_bandwidth("32 GT/s", 16).nccl, 48 * giga);
    EXPECT_EQ(pci_bandwidth("64.0 GT/s PCIe", 16).nccl, 96 * giga);
    EXPECT_EQ(pci_bandwidth("8 GT/s", 1).nccl, 750'000'000);
    EXPECT_EQ(pci_bandwidth("2.5 GT/s", 1).nccl, 187'500'000);
}

TEST(Rules, PciSpeedsHaveTwoSpellings) {
    EXPECT_EQ(pci_bandwidth("5.0 GT/s PCIe", 8), pci_bandwidth("5 GT/s", 8));
    EXPECT_EQ(pci_bandwidth("16.0 GT/s PCIe", 8), pci_bandwidth("16 GT/s", 8));
}

TEST(Rules, UnknownPciSpeedsCountAs8AndNoWidthAs16) {
    EXPECT_EQ(pci_bandwidth("", 16), pci_bandwidth("8 GT/s", 16));
    EXPECT_EQ(pci_bandwidth("Unknown speed", 4), pci_bandwidth("8 GT/s", 4));
    EXPECT_EQ(pci_bandwidth("64 GT/s", 16), pci_bandwidth("8 GT/s", 16));
    EXPECT_EQ(pci_bandwidth("16 GT/s", 0), pci_bandwidth("16 GT/s", 16));
}

TEST(Rules, NominalPciBandwidthCountsTheLineCode) {
    EXPECT_EQ(pci_bandwidth("2.5 GT/s", 16).nominal, 4 * giga);
    EXPECT_EQ(pci_bandwidth("8 GT/s", 16).nominal, 15'754'000'000);
    EXPECT_EQ(pci_bandwidth("16 GT/s", 16).nominal, 31'508'000'000);
    EXPECT_EQ(pci_bandwidth("32 GT/s", 16).nominal, 63'015'000'000);
    EXPECT_EQ(pci_bandwidth("64.0 GT/s PCIe", 16).nominal, 121 * giga);
    EXPECT_EQ(pci_bandwidth("8 GT/s", 8).nominal, 7'877'000'000);
}

TEST(Rules, PciWordsAreFoundForEveryBandwidthOfTheModel) {
    for (const int width : {1, 2, 4, 8, 16}) {
        for (const char* speed : {"2.5 GT/s PCIe", "8.0 GT/s PCIe", "64.0 GT/s PCIe"}) {
            const std::int64_t nccl = pci_bandwidth(speed, width).nccl;
            const PciLinkWords words = pci_words_for(nccl);
            EXPECT_EQ(pci_bandwidth(words.speed, words.width).nccl, nccl) << speed << width;
        }
    }
    EXPECT_EQ(pci_words_for(12 * giga).speed, "8.0 GT/s PCIe");
    EXPECT_EQ(pci_words_for(12 * giga).width, 16);
    EXPECT_EQ(pci_words_for(7).width, 16);
}

TEST(Rules, OneNvlink) {
    EXPECT_EQ(nvlink_bandwidth(60), (Bandwidth{20 * giga, 18 * giga}));
    EXPECT_EQ(nvlink_bandwidth(61), nvlink_bandwidth(60));
    EXPECT_EQ(nvlink_bandwidth(70), (Bandwidth{25 * giga, 20 * giga}));
    EXPECT_EQ(nvlink_bandwidth(80), (Bandwidth{25 * giga, 20 * giga}));
    EXPECT_EQ(nvlink_bandwidth(86), (Bandwidth{14'062'500'000, 12 * giga}));
    EXPECT_EQ(nvlink_bandwidth(89), nvlink_bandwidth(80));
    EXPECT_EQ(nvlink_bandwidth(90), (Bandwidth{25 * giga, 20'600'000'000}));
    EXPECT_EQ(nvlink_bandwidth(100), (Bandwidth{50 * giga, 40'100'000'000}));
    EXPECT_EQ(nvlink_bandwidth(120), nvlink_bandwidth(100));
    EXPECT_EQ(nvlink_bandwidth(0), nvlink_bandwidth(80));
}

TEST(Rules, OneXgmiLink) {
    EXPECT_EQ(xgmi_bandwidth("906").nccl, 24 * giga);
    EXPECT_EQ(xgmi_bandwidth("gfx908").nccl, 24 * giga);
    EXPECT_EQ(xgmi_bandwidth("910"), (Bandwidth{50 * giga, 36 * giga}));
    EXPECT_EQ(xgmi_bandwidth("gfx90a"), xgmi_bandwidth("910"));
    EXPECT_EQ(xgmi_bandwidth("gfx942"), (Bandwidth{64 * giga, 48 * giga}));
    EXPECT_EQ(xgmi_bandwidth("gfx950").nccl, 48 * giga);
}

std::int64_t intel(int family, int model) {
    return inter_socket_bandwidth(
               {.arch = "x86_64", .vendor = "GenuineIntel", .family = family, .model = model})
        .nccl;
}

TEST(Rules, FromSocketToSocket) {
    EXPECT_EQ(intel(6, 79), 6 * giga);
    EXPECT_EQ(intel(6, 0x54), 6 * giga);
    EXPECT_EQ(intel(6, 0x55), 10 * giga);
    EXPECT_EQ(intel(6, 0x8e), 10 * giga);
    EXPECT_EQ(intel(6, 0x8f), 22 * giga);
    EXPECT_EQ(intel(6, 0xcf), 40 * giga);
    EXPECT_EQ(intel(5, 0xcf), 6 * giga);
    EXPECT_EQ(inter_socket_bandwidth({.arch = "x86_64", .vendor = "AuthenticAMD"}).nccl, 16 * giga);
    EXPECT_EQ(inter_socket_bandwidth({.arch = "ppc64"}).nccl, 32 * giga);
    EXPECT_EQ(inter_socket_bandwidth({.arch = "arm64"}).nccl, 6 * giga);
    EXPECT_EQ(inter_socket_bandwidth({.arch = "x86_64", .vendor = "CentaurHauls"}).nccl, 6 * giga);
    const CpuInfo yongfeng{.arch = "x86_64", .vendor = "  Shanghai  ", .family = 7, .model = 0x5b};
    EXPECT_EQ(inter_socket_bandwidth(yongfeng).nccl, 9 * giga);
    EXPECT_EQ(inter_socket_bandwidth({.arch = "riscv"}), local_bandwidth);
}

TEST(Rules, ACpuIsFoundForEverySocketBandwidth) {
    for (const std::int64_t bandwidth : {6, 9, 10, 16, 22, 32, 40}) {
        const CpuInfo cpu = cpu_with_inter_socket_bandwidth(bandwidth * giga);
        EXPECT_EQ(inter_socket_bandwidth(cpu).nccl, bandwidth * giga);
    }
    EXPECT_EQ(cpu_with_inter_socket_bandwidth(1).model, 0x55);
}

TEST(Rules, PortsAreMegabitsPerSecond) {
    EXPECT_EQ(net_bandwidth(200'000).nccl, 25 * giga);
    EXPECT_EQ(net_bandwidth(1000).nominal, 125'000'000);
    EXPECT_EQ(net_bandwidth(0).nccl, 1'250'000'000);
    EXPECT_EQ(net_bandwidth(-1).nccl, 1'250'000'000);
}

TEST(Rules, ClassesAreToldByTheirPrefix) {
    EXPECT_EQ(pci_class("0x060400"), PciClass::pci_switch);
    EXPECT_EQ(pci_class("0x080100"), PciClass::pci_switch);
    EXPECT_EQ(pci_class("0x068000"), PciClass::nvswitch);
    EXPECT_EQ(pci_class("0x068001"), PciClass::cpu);
    EXPECT_EQ(pci_class("0x030200"), PciClass::gpu);
    EXPECT_EQ(pci_class("0x038000"), PciClass::gpu);
    EXPECT_EQ(pci_class("0x020700"), PciClass::nic);
    EXPECT_EQ(pci_class("0x120000"), PciClass::pci_switch);
}

PciInfo broadcom(std::string device, std::string subsystem_device) {
    return {.vendor = "0x1000",
            .device = std::move(device),
            .subsystem_vendor = "0x1000",
            .subsystem_device = std::move(subsystem_device)};
}

TEST(Rules, BroadcomSwitchesOfOneGenerationAreOneCrossbar) {
    EXPECT_TRUE(is_same_crossbar(broadcom("0xc010", "0xa096"), broadcom("0xc010", "0xa02f")));
    EXPECT_TRUE(is_same_crossbar(broadcom("0xc030", "0x0004"), broadcom("0xc030", "0x1004")));
    EXPECT_FALSE(is_same_crossbar(broadcom("0xc030", "0x1004"), broadcom("0xc030", "0x1004")));
    EXPECT_FALSE(is_same_crossbar(broadcom("0xc010", "0xa096"), broadcom("0xc030", "0x1004")));
    EXPECT_FALSE(is_same_crossbar(broadcom("0xc010", "0xb096"), broadcom("0xc010", "0xb096")));
    EXPECT_FALSE(is_same_crossbar({}, {}));
}

}  // namespace
}  // namespace rondo
