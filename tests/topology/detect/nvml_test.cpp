// NVML as a source: links of all kinds, and libraries that do not work.
#include <gmock/gmock.h>

#include "tests/topology/detect/fake_machine.hpp"
#include "topology/detect/nvml_source.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Nvml : public DetectTest {
protected:
    /// Without CUDA, so that NVML alone decides.
    Detection detect_by_nvml(const std::string& text) {
        nvml(text);
        DetectOptions alone = options(true);
        alone.cuda = false;
        return detect(alone);
    }
};

TEST_F(Nvml, ReadsGpusAndLinks) {
    nvml(
        "gpu 0000:06:00 4 16\nlink 0 1 0 0000:07:00 3\nlink 3 1 2 0000:c4:00 3\nlink 5 0 0 - 3\n"
        "gpu 0001:07:00 0 0");
    const detection::NvmlFacts facts = detection::read_nvml(FAKE_NVML);
    EXPECT_EQ(facts.problem, "");
    ASSERT_THAT(facts.gpus, SizeIs(2));
    const detection::NvmlGpu& gpu = facts.gpus[0];
    EXPECT_EQ(gpu.bus_id, "0000:06:00.0");
    EXPECT_EQ(gpu.name, "Fake GPU");
    EXPECT_EQ(gpu.pci_generation, 4);
    EXPECT_EQ(gpu.pci_width, 16);
    EXPECT_EQ(gpu.links_down, 1);
    ASSERT_THAT(gpu.links, SizeIs(2));
    EXPECT_EQ(gpu.links[0].end, detection::NvlinkEnd::gpu);
    EXPECT_EQ(gpu.links[0].bus_id, "0000:07:00.0");
    EXPECT_EQ(gpu.links[0].version, 3);
    EXPECT_EQ(gpu.links[1].end, detection::NvlinkEnd::nvswitch);
    EXPECT_EQ(facts.gpus[1].bus_id, "0001:07:00.0");
    EXPECT_EQ(facts.gpus[1].pci_generation, 0);
    EXPECT_THAT(facts.gpus[1].links, IsEmpty());
}

TEST_F(Nvml, ProblemsAreToldNotThrown) {
    EXPECT_EQ(detection::read_nvml("").problem, "not asked");
    EXPECT_THAT(detection::read_nvml("libno_such_library.so.1").problem,
                HasSubstr("libno_such_library.so.1"));
    EXPECT_THAT(detection::read_nvml("libm.so.6").problem, HasSubstr("nvmlInit_v2 is missing"));
    nvml("init 9\ngpu 0000:06:00 3 16");
    EXPECT_EQ(detection::read_nvml(FAKE_NVML).problem, "nvmlInit_v2 returned 9 (a made-up error)");
    nvml("");
    EXPECT_EQ(detection::read_nvml(FAKE_NVML).problem, "no device");
}

TEST_F(Nvml, SwitchesAreOneAndLinksAddUp) {
    std::string text;
    for (int gpu = 0; gpu < 2; ++gpu) {
        text += fmt::format("gpu 0000:0{}:00 4 16\n", gpu + 1);
        for (int link = 0; link < 12; ++link) {
            text += fmt::format("link {} 1 2 0000:c{}:00 3\n", link, link / 2);
        }
    }
    const Detection detection = detect_by_nvml(text);
    const Link link = link_between(detection.topology, "gpu0", "nvs");
    EXPECT_EQ(link.count, 12);
    EXPECT_EQ(link.nominal, 300'000'000'000);
    EXPECT_EQ(link.nccl, 240'000'000'000);
    EXPECT_EQ(link_between(detection.topology, "nvs", "gpu1").count, 12);
    EXPECT_TRUE(detection.topology.peer_access(0, 1));
    EXPECT_THAT(detection.warnings, Contains(HasSubstr("CUDA does not answer (not asked)")));
}

TEST_F(Nvml, UnknownEndsAreSwitchesAsInVirtualMachines) {
    const Detection detection = detect_by_nvml(
        "gpu 0000:01:00 4 16\nlink 0 1 255 - 6\ngpu 0000:02:00 4 16\nlink 0 1 255 - 6");
    EXPECT_EQ(link_between(detection.topology, "gpu0", "nvs").count, 1);
    EXPECT_EQ(link_between(detection.topology, "gpu0", "nvs").nccl, 20'600'000'000);
}

TEST_F(Nvml, LinksOfPowerCpusAndInvisibleGpus) {
    const Detection detection = detect_by_nvml(
        "gpu 0004:04:00 3 16\nlink 0 1 1 - 2\nlink 1 1 1 - 2\nlink 2 1 0 0009:09:00 2\nlink 3 0 0 "
        "- 2");
    const Link link = link_between(detection.topology, "gpu0", "cpu0");
    EXPECT_EQ(link.kind, LinkKind::pci) << "the tree comes first";
    const auto nvlink =
        std::ranges::find(detection.topology.links(), LinkKind::nvlink, &Link::kind);
    ASSERT_NE(nvlink, detection.topology.links().end());
    EXPECT_EQ(nvlink->count, 2);
    EXPECT_EQ(detection.topology.nodes()[nvlink->target].type, NodeType::cpu);
    EXPECT_THAT(detection.warnings, Contains("1 of the NVLinks of gpu0 are down"));
    EXPECT_EQ(source_of(detection, "gpu0", "NVLinks to GPUs that this program does not see"),
              FactSource::nvml);
}

TEST_F(Nvml, PciSpeedOfHiddenTreesComesFromNvml) {
    const Detection detection = detect_by_nvml("gpu 0000:01:00 4 8\ngpu 0000:02:00 0 0");
    EXPECT_EQ(link_between(detection.topology, "gpu0", "cpu0").nccl, 12'000'000'000);
    EXPECT_EQ(source_of(detection, "gpu0", "PCI link"), FactSource::nvml);
    EXPECT_EQ(link_between(detection.topology, "gpu1", "cpu0").nccl, 12'000'000'000);
    EXPECT_EQ(link_between(detection.topology, "gpu0", "cpu0").nominal, 15'754'000'000);
    EXPECT_EQ(source_of(detection, "gpu1", "PCI link"), FactSource::estimate);
}

}  // namespace
}  // namespace rondo::testing
