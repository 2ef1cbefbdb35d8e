// What the parts of an export share: the topology, its tree, and how to find links in it.
#pragma once

#include <optional>
#include <vector>

#include "topology/graph/topology.hpp"
#include "topology/xml/export_numbers.hpp"
#include "topology/xml/export_tree.hpp"
#include "topology/xml/extension.hpp"
#include "topology/xml/writer.hpp"

namespace rondo {

class ExportContext {
public:
    explicit ExportContext(const Topology& topology);

    const Topology& topology() const { return topology_; }
    const ExportTree& tree() const { return tree_; }
    const ExportNumbers& numbers() const { return numbers_; }
    ExportNumbers& numbers() { return numbers_; }
    const Node& node(int index) const { return topology_.nodes()[static_cast<std::size_t>(index)]; }

    std::optional<Link> link(int source, int target, LinkKind kind) const;
    LinkPair links(int a, int b, LinkKind kind) const {
        return {link(a, b, kind), link(b, a, kind)};
    }

    int parent(int index) const { return tree_.parent[static_cast<std::size_t>(index)]; }
    const std::vector<int>& children(int index) const {
        return tree_.children[static_cast<std::size_t>(index)];
    }
    /// The CPU at the top of the tree, if it is one of the topology.
    std::optional<int> root_cpu(int index) const;
    /// Whether the reader will make a link to the element above.
    bool has_parent(int index) const { return parent(index) >= 0 || root_cpu(index); }
    LinkPair links_to_parent(int index, LinkKind kind) const;

    /// A switch that is no PCI device but the other end of NVLinks.
    bool is_nvswitch(int index) const;
    /// Whether all GPUs have what NCCL requires beside a rank.
    bool ranked() const { return ranked_; }
    bool several_hosts() const { return several_hosts_; }

private:
    const Topology& topology_;
    LinkFinder finder_;
    ExportTree tree_;
    std::vector<bool> nvswitches_;
    ExportNumbers numbers_;
    bool ranked_;
    bool several_hosts_;
};

/// Our own attributes, where the reader would expect other links.
void add_unusual_links(XmlAttributes& attributes, const LinkPair& actual, const LinkPair& usual);

/// The gpu element with its links.
void write_gpu_element(XmlWriter& writer, const ExportContext& context, int index);

}  // namespace rondo
