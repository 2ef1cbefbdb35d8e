// The numbers of the simulator's model, in one place, each with where it comes from. Bandwidths of
// links are not here: they belong to the topology.
//
// "NCCL" is the model of NCCL 2.30.7 (src/graph/tuning.cc, topo.h), order LL / LL128 / Simple. Our
// steps are those of its protocol Simple: data, a fence, a flag. A hop of LL has its flag inside
// the data, so it is the bare way of a flag; what a hop of Simple costs more is the block that
// waits for its writes to arrive and for its threads.
#pragma once

#include "topology/graph/topology.hpp"

namespace rondo::simulation {

/// What a way between two GPUs is like: that of its slowest kind of link.
enum class PathKind { memory, fabric, pci, network };

/// Seconds from the launch to the first step. NCCL: base latency of Ring and Tree, Simple, 8.4 us.
constexpr double launch_seconds = 8.4e-6;
/// The same for a virtual GPU: `rondo-bench`, all_reduce of 8 bytes by 8 ranks.
constexpr double virtual_launch_seconds = 1.0e-6;

/// Seconds from the writing of a flag until the waiter sees it. NCCL: a ring's hop by LL: NVLink
/// 0.6, PCI 1.0, network 2.7 us. Memory: an 8-way barrier of fibers takes 0.24 us.
constexpr double flag_seconds(PathKind kind) {
    switch (kind) {
        case PathKind::memory:
            return 0.03e-6;
        case PathKind::fabric:
            return 0.6e-6;
        case PathKind::pci:
            return 1.0e-6;
        case PathKind::network:
            return 2.7e-6;
    }
    return 0;
}

/// Seconds that a block stands still between the data of a step and its flag. NCCL: a ring's hop by
/// Simple (NVLink 3.4, PCI 5.7, network 14 us) less that by LL. Memory needs no fence.
constexpr double fence_seconds(PathKind kind) {
    switch (kind) {
        case PathKind::memory:
            return 0;
        case PathKind::fabric:
            return 3.4e-6 - 0.6e-6;
        case PathKind::pci:
            return 5.7e-6 - 1.0e-6;
        case PathKind::network:
            return 14e-6 - 2.7e-6;
    }
    return 0;
}

/// A GPU of vgpu that is not like any real one.
inline bool is_virtual(const GpuInfo& gpu) {
    return gpu.model.ends_with("Virtual GPU");
}

/// Bytes per second that one block moves, the larger of what it reads and writes. NCCL: ceiling of
/// a channel of Tree, Simple, one node: Volta 26.5, Ampere 24, Hopper 38.7, Blackwell 70 GB/s;
/// older GPUs like Volta. Unknown GPUs (other vendors) like Ampere. Virtual ones: one core's memory
/// loop.
inline double lane_bandwidth(const GpuInfo& gpu) {
    if (is_virtual(gpu)) return 10e9;
    const int major = gpu.compute_major;
    if (major >= 10) return 70e9;
    if (major == 9) return 38.7e9;
    if (major == 8 || major == 0) return 24e9;
    return 26.5e9;
}

/// Bytes per second of the GPU's own memory, reads and writes together. Data sheets: P100 732, V100
/// 900, A100-40 1555, H100 SXM 3350, B200 8000 GB/s; MI250 3277 for its two dies. Virtual GPUs
/// have none of their own: what they share are the topology's links to the one memory.
inline double memory_bandwidth(const GpuInfo& gpu) {
    if (is_virtual(gpu)) return 1e15;
    const int major = gpu.compute_major;
    if (major >= 10) return 8000e9;
    if (major == 9) return 3350e9;
    if (major == 8) return 1555e9;
    if (major == 7) return 900e9;
    return major == 6 ? 732e9 : 1638e9;
}

}  // namespace rondo::simulation
