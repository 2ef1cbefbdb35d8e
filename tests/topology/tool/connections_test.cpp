// The words for how two GPUs are connected.
#include "topology/tool/connections.hpp"

#include <gtest/gtest.h>

#include "topology/load/any_topology.hpp"

namespace rondo::tool {
namespace {

std::string between(const char* preset, int from, int to) {
    return connections(load_any_topology(preset)).at(from).at(to);
}

TEST(Connections, CountNvlinksThroughSwitchesAndTrunks) {
    EXPECT_EQ(between("dgx1_v100", 0, 3), "NV2");
    EXPECT_EQ(between("dgx1_v100", 0, 5), "SYS");
    EXPECT_EQ(between("dgx_a100", 0, 7), "NV12");
    EXPECT_EQ(between("hgx_h100", 2, 5), "NV18");
    EXPECT_EQ(between("dgx2_v100", 0, 15), "NV6");
    EXPECT_EQ(between("gb200_nvl72_1sw", 0, 71), "NV18");
}

TEST(Connections, OtherKinds) {
    EXPECT_EQ(between("dgx1_v100", 4, 4), "X");
    EXPECT_EQ(between("mi250_16gcd", 0, 1), "XGMI4");
    EXPECT_EQ(between("mi250_16gcd", 0, 2), "-");
    EXPECT_EQ(between("host", 0, 1), "MEM");
    EXPECT_EQ(between("pcie8_4sw", 0, 1), "PIX");
    EXPECT_EQ(between("pcie8_4sw", 0, 2), "PHB");
    EXPECT_EQ(between("pcie8_4sw", 0, 7), "SYS");
    EXPECT_EQ(between("pcie4_nop2p", 0, 1), "PHB");
    EXPECT_EQ(between("dgx_a100_x2", 0, 15), "NET");
    EXPECT_EQ(between(RONDO_TEST_DATA "/rccl_mi250_16gcd_16p1h.xml", 0, 3), "PXB");
}

}  // namespace
}  // namespace rondo::tool
