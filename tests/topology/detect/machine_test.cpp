// Whole machines: everything that the sources say, put together.
#include <gmock/gmock.h>

#include "tests/topology/detect/fake_machine.hpp"
#include "topology/forest/forest.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A DGX-1V as the kernel and NVML show it: the preset's wiring behind real-looking paths.
class Dgx1 : public DetectTest {
protected:
    Dgx1() : preset_(load_topology("dgx1_v100")) {
        use_vgpu("dgx1_v100");
        add_cpus(2, "GenuineIntel", 6, 79);
        for (int quarter = 0; quarter < 4; ++quarter) add_quarter(quarter);
        nvml(nvml_text());
    }

    std::string bus_id(int gpu) const { return preset_.nodes()[preset_.gpu_node(gpu)].gpu.bus_id; }

    /// Root port, the two halves of a switch, two GPUs.
    void add_quarter(int quarter) {
        const int numa = quarter / 2;
        const std::string root =
            fmt::format("0000:{}:0{}.0", numa == 0 ? "00" : "80", quarter % 2 + 1);
        const std::string up = fmt::format("0000:{:02x}:00.0", 0xc0 + quarter);
        add_device({root}, bridge_files(numa));
        add_device({root, up}, bridge_files(numa));
        for (int i = 0; i < 2; ++i) {
            const std::string down = fmt::format("0000:{:02x}:0{}.0", 0xd0 + quarter, i);
            add_device({root, up, down}, bridge_files(numa));
            add_device({root, up, down, bus_id(2 * quarter + i)}, gpu_files(numa));
        }
    }

    std::string nvml_text() const {
        std::string text;
        for (int gpu = 0; gpu < 8; ++gpu) {
            text += fmt::format("gpu {} 3 16\n", bus_id(gpu));
            int number = 0;
            for (int peer = 0; peer < 8; ++peer) {
                const Link link =
                    link_between(preset_, fmt::format("gpu{}", gpu), fmt::format("gpu{}", peer));
                for (int i = 0; i < link.count; ++i) {
                    text += fmt::format("link {} 1 0 {} 2\n", number++, bus_id(peer));
                }
            }
        }
        return text;
    }

    Topology preset_;
};

TEST_F(Dgx1, IsDetectedAsThePreset) {
    const Detection detection = detect(options(true));
    const Topology& topology = detection.topology;
    EXPECT_THAT(detection.warnings, IsEmpty());
    EXPECT_EQ(topology.gpu_count(), 8);
    EXPECT_THAT(topology.nodes(), SizeIs(14));
    EXPECT_THAT(topology.links(), SizeIs(preset_.links().size()));
    for (int from = 0; from < 8; ++from) {
        EXPECT_EQ(topology.nodes()[from].gpu.bus_id, bus_id(from));
        EXPECT_EQ(topology.nodes()[from].gpu.compute_major, 7);
        for (int to = 0; to < 8; ++to) {
            EXPECT_EQ(topology.peer_access(from, to), preset_.peer_access(from, to));
            const std::string a = fmt::format("gpu{}", from);
            const std::string b = fmt::format("gpu{}", to);
            EXPECT_EQ(link_between(topology, a, b).nccl, link_between(preset_, a, b).nccl);
            EXPECT_EQ(link_between(topology, a, b).count, link_between(preset_, a, b).count);
        }
    }
    EXPECT_EQ(link_between(topology, "cpu0", "cpu1").nccl, 6'000'000'000);
    for (const LinkFilter links : {LinkFilter::nvlink, LinkFilter::all}) {
        EXPECT_EQ(forest_bound(topology, {.links = links}).throughput,
                  forest_bound(preset_, {.links = links}).throughput);
    }
}

TEST_F(Dgx1, EveryFactHasItsSource) {
    const Detection detection = detect(options(true));
    EXPECT_EQ(source_of(detection, "gpu0", "bus id"), FactSource::cuda);
    EXPECT_EQ(source_of(detection, "gpu0", "compute capability"), FactSource::cuda);
    EXPECT_EQ(source_of(detection, "gpu0", "PCI link"), FactSource::sysfs);
    EXPECT_EQ(source_of(detection, "gpu0", "is below"), FactSource::sysfs);
    EXPECT_EQ(source_of(detection, "cpu1", "NUMA domain"), FactSource::sysfs);
    EXPECT_EQ(source_of(detection, "gpu0 - gpu3", "NVLinks"), FactSource::nvml);
    EXPECT_EQ(source_of(detection, "gpu0 - gpu3", "bandwidth"), FactSource::estimate);
    EXPECT_EQ(source_of(detection, "cpu0 - cpu1", "bandwidth"), FactSource::estimate);
    EXPECT_THAT(detection.topology.sources(),
                AllOf(Contains("CUDA: 8 GPUs and their peers"), Contains("NVML: NVLinks of 8 GPUs"),
                      Contains(HasSubstr("sysfs: 24 PCI")),
                      Contains(HasSubstr("estimated by NCCL's rules: "))));
}

TEST_F(Dgx1, ACutNvlinkIsLeftOut) {
    vgpu::cut_link(0, 3);
    const Detection detection = detect(options(true));
    EXPECT_FALSE(detection.topology.peer_access(0, 3));
    EXPECT_FALSE(detection.topology.peer_access(3, 0));
    EXPECT_TRUE(detection.topology.peer_access(0, 4));
}

TEST_F(DetectTest, NoGpuAtAllIsAnErrorThatNamesEverySource) {
    DetectOptions nobody = options();
    nobody.cuda = false;
    try {
        detect(nobody);
        FAIL() << "nothing was thrown";
    } catch (const DetectionError& error) {
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr("no GPU was found"), HasSubstr("CUDA: not asked"),
                          HasSubstr("NVML: not asked"), HasSubstr("sysfs: no PCI devices in")));
    }
}

TEST_F(DetectTest, VirtualGpusLiveInHostMemory) {
    use_vgpu("4");
    const Detection detection = detect(options());
    EXPECT_THAT(detection.warnings, IsEmpty());
    EXPECT_EQ(detection.topology.gpu_count(), 4);
    EXPECT_EQ(detection.topology.links().front().kind, LinkKind::memory);
    EXPECT_EQ(forest_bound(detection.topology, {}).throughput,
              forest_bound(load_topology("4"), {}).throughput);
}

/// In a container nothing but CUDA may answer. Whatever the machine, peers must be what CUDA says.
TEST_F(DetectTest, HiddenMachinesGetAUsableAnswerAndAWarning) {
    for (const std::string& preset : preset_names()) {
        if (preset == "host" || preset == "gb200_nvl72_1sw") continue;
        SCOPED_TRACE(preset);
        use_vgpu(preset);
        DetectOptions quick = options();
        quick.self_test = false;
        const Detection detection = detect(quick);
        const Topology original = load_topology(preset);
        EXPECT_THAT(detection.warnings, Contains(HasSubstr("PCI tree")));
        ASSERT_EQ(detection.topology.gpu_count(), original.gpu_count());
        for (int from = 0; from < original.gpu_count(); ++from) {
            for (int to = 0; to < original.gpu_count(); ++to) {
                EXPECT_EQ(detection.topology.peer_access(from, to), original.peer_access(from, to))
                    << from << " to " << to;
            }
        }
        EXPECT_GT(forest_bound(detection.topology, {.shares = RootShares::equal}).throughput, 0);
    }
}

TEST_F(DetectTest, WithoutNvmlNvlinksAreGuessedFromCuda) {
    use_vgpu("dgx_a100");
    const Detection a100 = detect(options());
    EXPECT_THAT(a100.warnings, Contains(HasSubstr("NVLinks are guessed")));
    EXPECT_EQ(link_between(a100.topology, "gpu0", "nvs").count, 12);
    EXPECT_EQ(source_of(a100, "gpu0 - nvs", "NVLinks"), FactSource::estimate);
    EXPECT_EQ(source_of(a100, "gpu0 - nvs", "joined by NVLink"), FactSource::cuda);
    use_vgpu("dgx1_v100");
    const Detection v100 = detect(options());
    EXPECT_EQ(link_between(v100.topology, "gpu0", "gpu4").count, 1);
    EXPECT_EQ(link_between(v100.topology, "gpu0", "gpu5").count, 0);
}

}  // namespace
}  // namespace rondo::testing
