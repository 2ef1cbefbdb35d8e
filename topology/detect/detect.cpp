// Asks all sources, puts the answers together, tries the result out.
#include "topology/detect/detect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/assemble.hpp"

namespace rondo {
namespace {

using detection::Sources;

Sources ask(const DetectOptions& options) {
    Sources sources;
    sources.cuda.problem = "not asked";
    if (options.cuda) sources.cuda = detection::read_cuda();
    sources.nvml = detection::read_nvml(options.nvml_library);
    sources.sysfs = detection::read_sysfs(options.root);
    if (options.hwloc) sources.hwloc = detection::read_hwloc();
    return sources;
}

std::string problem_or(const std::string& problem, const std::string& otherwise) {
    return problem.empty() ? otherwise : problem;
}

/// One line per source for the file, so that it tells where it comes from.
std::vector<std::string> sources_of(const Sources& sources, const std::vector<Fact>& facts) {
    const auto estimates = std::ranges::count(facts, FactSource::estimate, &Fact::source);
    std::vector<std::string> lines{
        "CUDA: " + problem_or(sources.cuda.problem,
                              fmt::format("{} GPUs and their peers", sources.cuda.gpus.size())),
        "NVML: " + problem_or(sources.nvml.problem,
                              fmt::format("NVLinks of {} GPUs", sources.nvml.gpus.size())),
        "sysfs: " + problem_or(sources.sysfs.problem,
                               fmt::format("{} PCI devices", sources.sysfs.devices.size()))};
    if (estimates > 0) {
        lines.push_back(fmt::format("estimated by NCCL's rules: {} values", estimates));
    }
    for (std::string& line : lines) {
        std::ranges::replace_if(
            line, [](unsigned char c) { return c < ' '; }, ' ');
    }
    return lines;
}

/// "8 x Tesla V100-SXM2-32GB"
std::string description_of(const Topology& topology) {
    const std::string& first = topology.nodes()[topology.gpu_node(0)].gpu.model;
    for (const Node& node : topology.nodes()) {
        if (node.type == NodeType::gpu && node.gpu.model != first) return "";
    }
    return first.empty() ? "" : fmt::format("{} x {}", topology.gpu_count(), first);
}

std::vector<std::pair<int, int>> peers_in(const Topology& topology) {
    std::vector<std::pair<int, int>> pairs;
    for (int from = 0; from < topology.gpu_count(); ++from) {
        for (int to = 0; to < topology.gpu_count(); ++to) {
            if (from != to && topology.peer_access(from, to)) pairs.emplace_back(from, to);
        }
    }
    return pairs;
}

void try_out(Detection& result, const SelfTestOptions& options, FactLog& log) {
    result.broken_pairs = test_pairs(peers_in(result.topology), options);
    std::vector<std::pair<int, int>> broken;
    for (const auto& [from, to, reason] : result.broken_pairs) {
        broken.emplace_back(from, to);
        log.add(fmt::format("gpu{} - gpu{}", from, to), "works", "no", FactSource::self_test);
        log.warn(fmt::format("copying from GPU {} to GPU {} fails, so their link is left out: {}",
                             from, to, reason));
    }
    if (!broken.empty()) result.topology = detection::without(result.topology, broken);
}

}  // namespace

std::string to_string(FactSource source) {
    switch (source) {
        case FactSource::cuda:
            return "CUDA";
        case FactSource::nvml:
            return "NVML";
        case FactSource::sysfs:
            return "sysfs";
        case FactSource::hwloc:
            return "hwloc";
        case FactSource::estimate:
            return "estimate";
        case FactSource::self_test:
            return "self-test";
    }
    return "?";
}

Detection detect(const DetectOptions& options) {
    const Sources sources = ask(options);
    FactLog log;
    detection::Graph graph = detection::assemble(sources, log);
    if (graph.gpus == 0) {
        throw DetectionError(fmt::format("no GPU was found. CUDA: {}; NVML: {}; sysfs: {}",
                                         sources.cuda.problem, sources.nvml.problem,
                                         problem_or(sources.sysfs.problem, "no NVIDIA device")));
    }
    detection::add_fabric(graph, sources, log);
    Detection result;
    result.topology = detection::with_peers(graph, sources.cuda, log);
    if (options.self_test && !sources.cuda.gpus.empty()) try_out(result, options.test, log);
    result.topology.set_description(description_of(result.topology));
    result.topology.set_sources(sources_of(sources, log.facts()));
    result.facts = log.facts();
    result.warnings = log.warnings();
    return result;
}

}  // namespace rondo
