// What the parts of an export share: the topology, its tree, and how to find links in it.
#include "topology/xml/export_context.hpp"

#include <algorithm>

namespace rondo {
namespace {

/// A GPU element with a rank must have an sm.
bool may_have_rank(const Node& node) {
    if (node.type != NodeType::gpu || node.gpu.compute_major > 0) return true;
    return node.gpu.rank && !node.gpu.rank->gcn.empty();
}

}  // namespace

ExportContext::ExportContext(const Topology& topology)
    : topology_(topology),
      finder_(topology.links()),
      tree_(build_export_tree(topology)),
      nvswitches_(find_nvswitches(topology)),
      numbers_(topology),
      ranked_(std::ranges::all_of(topology.nodes(), may_have_rank)),
      several_hosts_(
          std::ranges::any_of(topology.nodes(), [](const Node& node) { return node.host > 0; })) {}

std::optional<Link> ExportContext::link(int source, int target, LinkKind kind) const {
    const auto index = finder_.find(source, target, kind);
    return index ? std::optional(topology_.links()[*index]) : std::nullopt;
}

std::optional<int> ExportContext::root_cpu(int index) const {
    const int root = tree_.root[static_cast<std::size_t>(index)];
    return tree_.roots[static_cast<std::size_t>(root)].cpu;
}

LinkPair ExportContext::links_to_parent(int index, LinkKind kind) const {
    return parent(index) < 0 ? LinkPair{} : links(index, parent(index), kind);
}

bool ExportContext::is_nvswitch(int index) const {
    return nvswitches_[static_cast<std::size_t>(index)] && !tree_.holds(index);
}

void add_unusual_links(XmlAttributes& attributes, const LinkPair& actual, const LinkPair& usual) {
    if (!same_apart_from_endpoints(actual.there, usual.there)) {
        attributes.emplace_back(extension::link, encode_link(actual.there));
    }
    if (!same_apart_from_endpoints(actual.back, usual.back)) {
        attributes.emplace_back(extension::back, encode_link(actual.back));
    }
}

}  // namespace rondo
