// rondo-topo detect, on virtual GPUs.
#include <gmock/gmock.h>

#include "tests/topology/tool/run.hpp"
#include "topology/graph/json.hpp"

namespace rondo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class TopoDetect : public ToolTest {
protected:
    /// With an empty folder as the machine's files, no NVML, and the virtual GPUs of a topology.
    Result detect(const std::string& gpus, const std::string& arguments = "") const {
        setenv("VGPU_TOPOLOGY", gpus.c_str(), 1);
        return run(RONDO_TOPO_VGPU,
                   "detect --root '" + file("").string() + "' --nvml '' " + arguments);
    }
};

TEST_F(TopoDetect, PrintsWhatItFoundAndWhereFrom) {
    const Result result = detect("4");
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.error, IsEmpty());
    EXPECT_THAT(result.out, StartsWith("CUDA: 4 GPUs and their peers\nNVML: not asked\n"));
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("detected: 4 GPUs\n4 x vgpu Virtual GPU\n"), HasSubstr("MEM")));
}

TEST_F(TopoDetect, WritesAFileThatCanBeReadAgain) {
    const std::string output = file("machine.json").string();
    const Result result = detect("dgx1_v100", "-o '" + output + "'");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("Written: " + output));
    EXPECT_THAT(result.error, HasSubstr("warning: the PCI tree of 8 of 8 GPUs is hidden"));
    const Topology topology = topology_from_json(file_contents(output));
    EXPECT_EQ(topology.gpu_count(), 8);
    EXPECT_EQ(topology_from_json(detect("dgx1_v100", "-o -").out), topology);
    EXPECT_EQ(topo("validate '" + output + "'").code, 0);
}

TEST_F(TopoDetect, FactsNameTheirSources) {
    const Result result = detect("dgx1_v100", "--facts --no-self-test");
    EXPECT_THAT(result.out, AllOf(HasSubstr("OF"), HasSubstr("joined by NVLink"),
                                  HasSubstr("estimate"), HasSubstr("CUDA")));
}

TEST_F(TopoDetect, NoGpuIsAFailureWithEveryReason) {
    const Result result = detect("4", "--no-cuda");
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.error, AllOf(StartsWith("rondo-topo: no GPU was found. CUDA: not asked"),
                                    HasSubstr("NVML: not asked"), HasSubstr("no PCI devices in")));
}

}  // namespace
}  // namespace rondo::testing
