// Finds out what machine the program runs on: GPUs, switches, CPUs, NICs and how they are wired.
//
// CUDA tells the GPUs and who may reach whose memory, NVML the NVLinks, sysfs the PCI tree, the
// CPUs and the NICs, hwloc which CPU a device is near where sysfs does not. Each may be missing;
// what nobody tells is estimated by NCCL's rules and said to be so. docs/detection.md has the
// details.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "topology/detect/facts.hpp"
#include "topology/detect/self_test.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/topology.hpp"

namespace rondo {

/// There is no GPU, or the machine could not be looked at; the text says what each source said.
class DetectionError : public TopologyError {
public:
    using TopologyError::TopologyError;
};

struct DetectOptions {
    /// Where sys and proc are; another folder for tests and for looking at a copied machine.
    std::filesystem::path root = "/";
    std::string nvml_library = "libnvidia-ml.so.1";  ///< empty: NVML is not asked
    bool cuda = true;                                ///< false: CUDA is not asked
    bool hwloc = true;                               ///< false: hwloc is not asked
    /// Copy a pattern between every two GPUs that should reach each other and leave out what is
    /// broken. Takes memory and time on every GPU: 1 MiB, some microseconds per pair.
    bool self_test = true;
    SelfTestOptions test = {};
};

struct Detection {
    Topology topology;
    std::vector<Fact> facts;
    std::vector<std::string> warnings;     ///< what the user should know, one sentence each
    std::vector<BrokenPair> broken_pairs;  ///< what the self-test found
};

/// Throws DetectionError.
Detection detect(const DetectOptions& options = {});

}  // namespace rondo
