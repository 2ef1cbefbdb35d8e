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
/// Once per call, because all ranks are launched before anybody waits for them.
constexpr double launch_seconds = 8.4e-6;
inline double launch_seconds_of(const GpuInfo& gpu) {
    return gpu.costs ? gpu.costs->launch_us * 1e-6 : launch_seconds;
}

/// Seconds from the writing of a flag until the waiter sees it. NCCL: a ring's hop by LL: NVLink
/// 0.6, PCI 1.0, network 2.7 us. The waiter polls its own memory, and half a period of that is in
/// these figures, because NCCL's receivers do the same. Memory: an 8-way barrier of fibers takes
/// 0.24 us.
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

/// The same from one block of a GPU to another.
inline double own_flag_seconds(const GpuInfo& gpu) {
    return gpu.costs ? gpu.costs->flag_us * 1e-6 : flag_seconds(PathKind::fabric);
}

/// Bytes per second that one block writes. NCCL: ceiling of a channel of Tree, Simple, one node:
/// Volta 26.5, Ampere 24, Hopper 38.7, Blackwell 70 GB/s; older GPUs like Volta. Unknown GPUs
/// (other vendors) like Ampere.
inline double lane_bandwidth(const GpuInfo& gpu) {
    if (gpu.costs) return gpu.costs->block_GBps * 1e9;
    const int major = gpu.compute_major;
    if (major >= 10) return 70e9;
    if (major == 9) return 38.7e9;
    if (major == 8 || major == 0) return 24e9;
    return 26.5e9;
}

/// Bytes that one block has asked for and not yet got: 512 threads with eight packs of 16 bytes, of
/// one or several sources, see kernels/. What it reads takes a way there and back, so it can't read
/// faster than this per round trip; what it writes is posted. Pascal and Volta have half of them.
inline double bytes_in_flight(const GpuInfo& gpu) {
    const bool is_old = gpu.compute_major == 6 || (gpu.compute_major == 7 && gpu.compute_minor < 5);
    return is_old ? 32 << 10 : 64 << 10;
}

/// Sources that a block folds at its full speed. NCCL's figures are of blocks that fold what
/// arrives into their own data, because in one node its trees are chains. Ours do the same where
/// loads of both are in flight together; those of a topology are of every byte that is read.
inline double sources_at_lane_bandwidth(const GpuInfo& gpu) {
    return gpu.costs ? 1 : bytes_in_flight(gpu) / (32 << 10);
}

/// A round trip to the GPU's own memory: NVIDIA's GPUs from Volta to Hopper take 0.4 to 0.7 us
/// under load.
constexpr double own_memory_seconds = 0.6e-6;

/// What reading over PCI Express takes beyond the bytes. Data comes in completions that may be
/// split at 64 bytes, each with 20 bytes of header and framing, where writes have 24 for 128; and
/// every 128 bytes are asked for by 24 in the other direction (PCI Express base specification,
/// transaction layer). NCCL does not read over PCI at all (ncclTopoCheckP2p()).
constexpr double pci_read_bytes = (64.0 + 20) / 64 / ((128.0 + 24) / 128);
constexpr double pci_request_bytes = 24.0 / 128;

/// Bytes per second of the GPU's own memory, reads and writes together. Data sheets: P100 732, V100
/// 900, A100-40 1555, H100 SXM 3350, B200 8000 GB/s; MI250 3277 for its two dies.
inline double memory_bandwidth(const GpuInfo& gpu) {
    if (gpu.costs) return gpu.costs->memory_GBps * 1e9;
    const int major = gpu.compute_major;
    if (major >= 10) return 8000e9;
    if (major == 9) return 3350e9;
    if (major == 8) return 1555e9;
    if (major == 7) return 900e9;
    return major == 6 ? 732e9 : 1638e9;
}

}  // namespace rondo::simulation
