// Which CUDA runtime the program was linked with, and what machine it shows.
#pragma once

#include <optional>
#include <string>

#include "bench/tool/result.hpp"
#include "topology/graph/topology.hpp"

namespace rondo::bench {

/// True on vgpu, false on NVIDIA's runtime.
bool runtime_is_virtual();

/// Virtual GPUs: how many there are and how they are wired. Call it before anything else of CUDA.
void prepare_runtime(const std::string& topology, int ranks);

/// The machine, detected or named by the user; its name and picture go to the header. None where it
/// can't be found out; the header says why.
std::optional<Topology> describe_topology(Header& header, const std::string& topology);

/// Goes on as the program for GPUs when `gpu` is cuda, or auto where there is one. Throws
/// Unsupported when it is asked for and can't be had. Returns otherwise.
void switch_to_gpus(const std::string& gpu, char** argv);

}  // namespace rondo::bench
