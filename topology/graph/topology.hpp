// The topology value: what a machine is made of and how it is wired. Everything above reads this
// one type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/graph/details.hpp"

namespace rondo {

enum class NodeType { gpu, network_switch, cpu, nic };

/// How two nodes are wired. `memory` joins virtual GPUs that live in one host memory;
/// `chip_to_chip` is a coherent link between a CPU and its GPU (NVLink-C2C).
enum class LinkKind { nvlink, xgmi, pci, inter_socket, network, memory, chip_to_chip };

/// Which bandwidth of a link to use: what the standard says, or what NCCL's model assumes.
enum class BandwidthModel { nominal, nccl };

/// What the simulator is told about a GPU that is like no other; else it knows GPUs by their
/// compute capability.
struct GpuCosts {
    double launch_us = 0;  ///< from the call to the first step of a kernel
    double flag_us = 0;    ///< from the writing of a flag in its memory until a block of it sees it
    double block_GBps = 0;   ///< that one block moves
    double memory_GBps = 0;  ///< of its own memory, reads and writes together

    bool operator==(const GpuCosts&) const = default;
};

/// What is known about a GPU beyond its wiring. Empty or zero means unknown.
struct GpuInfo {
    std::string model = {};
    int compute_major = 0;
    int compute_minor = 0;
    std::uint64_t memory_bytes = 0;
    std::string bus_id = {};  ///< "0000:06:00.0"
    std::optional<RankInfo> rank = {};
    std::optional<GpuCosts> costs = {};

    bool operator==(const GpuInfo&) const = default;
};

struct Node {
    std::string id = {};
    NodeType type = NodeType::gpu;
    GpuInfo gpu = {};  ///< meaningful only for GPUs
    int host = 0;      ///< which machine, where a topology has several
    std::optional<PciInfo> pci = {};
    std::optional<CpuInfo> cpu = {};  ///< only for CPUs
    std::optional<NetInfo> net = {};  ///< only for NICs: this node is one of its ports

    bool operator==(const Node&) const = default;
};

/// One direction of a bundle of links. Bandwidths are integers (bytes per second) so that schedules
/// can be computed exactly; 20.6 GB/s is 20'600'000'000.
struct Link {
    int source = 0;  ///< index into Topology::nodes()
    int target = 0;
    LinkKind kind = LinkKind::nvlink;
    int count = 1;
    std::int64_t nominal = 0;  ///< bytes per second of the whole bundle, this direction
    std::int64_t nccl = 0;     ///< the same by NCCL's model
    std::optional<double> latency_us = {};

    std::int64_t bandwidth(BandwidthModel model) const {
        return model == BandwidthModel::nominal ? nominal : nccl;
    }
    bool operator==(const Link&) const = default;
};

/// A directed graph of nodes and links. GPUs are numbered 0..gpu_count()-1 in the order of the node
/// list; that number is the device index everywhere else.
class Topology {
public:
    Topology() = default;
    /// Throws TopologyError naming the first offending element (see validate()).
    Topology(std::string name, std::vector<Node> nodes, std::vector<Link> links);

    const std::string& name() const { return name_; }
    const std::string& description() const { return description_; }
    void set_description(std::string text) { description_ = std::move(text); }
    const std::vector<std::string>& sources() const { return sources_; }
    void set_sources(std::vector<std::string> sources) { sources_ = std::move(sources); }
    const std::vector<Node>& nodes() const { return nodes_; }
    const std::vector<Link>& links() const { return links_; }

    int gpu_count() const { return static_cast<int>(gpus_.size()); }
    /// Node index of GPU `gpu`. Throws std::out_of_range.
    int gpu_node(int gpu) const { return gpus_.at(static_cast<std::size_t>(gpu)); }
    std::optional<int> find_node(std::string_view id) const;

    /// Whether GPUs that share a PCI root may map each other's memory (ACS, IOMMU or consumer cards
    /// forbid it).
    bool pci_peer_access() const { return pci_peer_access_; }
    void set_pci_peer_access(bool allowed) { pci_peer_access_ = allowed; }

    /// Pairs (from, to) of GPUs that the wiring joins but that can't map each other's memory all
    /// the same: a broken link, or a driver that refuses. Sorted, each once.
    const std::vector<std::pair<int, int>>& no_peer_access() const { return no_peer_access_; }
    /// Throws TopologyError for a GPU that does not exist, and for a GPU and itself.
    void set_no_peer_access(std::vector<std::pair<int, int>> pairs);

    /// Whether a kernel on GPU `from` may read and write the memory of GPU `to`: they are joined by
    /// NVLink, XGMI or shared memory (directly or through switches of that kind), or sit under one
    /// PCI root and pci_peer_access() holds; and no_peer_access() does not list them. A GPU reaches
    /// itself. Never through another GPU, another socket or the network.
    bool peer_access(int from, int to) const;

    bool operator==(const Topology&) const = default;

private:
    std::string name_;
    std::string description_;
    std::vector<std::string> sources_;
    std::vector<Node> nodes_;
    std::vector<Link> links_;
    std::vector<int> gpus_;
    std::vector<std::uint8_t> peers_;  ///< derived from the links, see find_peers()
    bool pci_peer_access_ = true;
    std::vector<std::pair<int, int>> no_peer_access_;
};

/// `count` virtual GPUs in one host memory: every GPU reaches every other. Throws TopologyError
/// unless 1 <= count <= 1024.
Topology make_host_topology(int count);
/// Of a GPU whose memory is the host's and whose blocks run on its cores.
GpuCosts host_gpu_costs();

/// Reads what users write in VGPU_TOPOLOGY or on a command line: a count ("8"), a preset's name, or
/// the path of a JSON file. Throws TopologyError that names the value and lists the presets.
Topology load_topology(std::string_view specification);

/// Names of the presets that are built in.
std::vector<std::string> preset_names();

}  // namespace rondo
