// What users may write for a topology: a count, a preset, a file; and what they read when it is
// wrong.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/topology/builders.hpp"
#include "topology/graph/json.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_for(std::string_view specification) {
    return error_of([&] { load_topology(specification); });
}

TEST(HostTopology, EveryGpuReachesEveryOther) {
    for (const int count : {1, 2, 7, 64, 1024}) {
        const Topology topology = make_host_topology(count);
        ASSERT_EQ(topology.gpu_count(), count);
        for (int gpu = 0; gpu < count; ++gpu) {
            ASSERT_TRUE(topology.peer_access(gpu, count - 1 - gpu));
            ASSERT_EQ(topology.nodes()[static_cast<std::size_t>(topology.gpu_node(gpu))].id,
                      "gpu" + std::to_string(gpu));
        }
    }
}

TEST(HostTopology, DoesNotDependOnPci) {
    Topology topology = make_host_topology(2);
    topology.set_pci_peer_access(false);
    EXPECT_TRUE(topology.peer_access(0, 1));
}

TEST(HostTopology, RefusesCountsOutsideItsRange) {
    for (const int count : {0, -1, 1025}) {
        EXPECT_THAT(error_of([&] { make_host_topology(count); }),
                    HasSubstr("not " + std::to_string(count)));
    }
}

TEST(Load, ACount) {
    EXPECT_EQ(load_topology("8"), make_host_topology(8));
    EXPECT_EQ(load_topology("1").gpu_count(), 1);
}

TEST(Load, ABadCountIsNamed) {
    for (const char* bad : {"0", "-3", "+8", "1025", "99999999999999999999"}) {
        EXPECT_THAT(error_for(bad), AllOf(HasSubstr(bad), HasSubstr("1024"))) << bad;
    }
}

TEST(Load, APreset) {
    EXPECT_EQ(load_topology("dgx1_v100").name(), "dgx1_v100");
    EXPECT_EQ(load_topology("dgx1_v100").gpu_count(), 8);
}

TEST(Load, AFile) {
    const Topology topology("my box", {gpu("a"), gpu("b")}, {});
    const TemporaryFolder folder;
    const std::string file = folder.write("my folder/my box.json", topology_to_json(topology));
    EXPECT_EQ(load_topology(file), topology);
}

TEST(Load, AnUnknownNameIsAnsweredWithThePresets) {
    EXPECT_THAT(error_for("dgx1"), AllOf(HasSubstr("\"dgx1\""), HasSubstr("dgx1_v100"),
                                         HasSubstr("pcie4_nop2p"), HasSubstr("host")));
    EXPECT_THAT(error_for(""), HasSubstr("\"\""));
    EXPECT_THAT(error_for("8 "), HasSubstr("neither"));
    EXPECT_THAT(error_for(std::string("dgx1_v100\0", 10)), HasSubstr("neither"));
}

TEST(Load, AFileThatIsNotATopologyIsNamed) {
    const TemporaryFolder folder;
    const std::string file = folder.write("my box.json", "{");
    EXPECT_THAT(error_for(file), AllOf(HasSubstr("my box.json"), HasSubstr("line 1")));
    EXPECT_THAT(error_for(folder.path().string()), HasSubstr("directory"));
}

TEST(Load, AnEndlessFileIsGivenUp) {
    if (!std::filesystem::exists("/dev/zero")) GTEST_SKIP() << "there is no /dev/zero";
    EXPECT_THAT(error_for("/dev/zero"), HasSubstr("larger than"));
}

}  // namespace
}  // namespace rondo::testing
