// Compares two topologies by the ids of their nodes, in words.
#include "topology/xml/difference.hpp"

#include <map>
#include <tuple>

#include "topology/graph/names.hpp"

namespace rondo {
namespace {

using LinkKey = std::tuple<std::string_view, std::string_view, LinkKind>;

std::map<LinkKey, const Link*> links_by_ids(const Topology& topology) {
    std::map<LinkKey, const Link*> result;
    const auto id = [&](int node) -> std::string_view {
        return topology.nodes()[static_cast<std::size_t>(node)].id;
    };
    for (const Link& link : topology.links()) {
        result[{id(link.source), id(link.target), link.kind}] = &link;
    }
    return result;
}

std::string describe(const Node& node) {
    return "the " + std::string(to_string(node.type)) + " " + in_quotes(node.id);
}

std::string describe(const LinkKey& key) {
    const auto& [source, target, kind] = key;
    return "the link " + std::string(source) + " -> " + std::string(target) + " (" +
           std::string(to_string(kind)) + ")";
}

bool same_figures(const Link& a, const Link& b) {
    return a.count == b.count && a.nominal == b.nominal && a.nccl == b.nccl &&
           a.latency_us == b.latency_us;
}

void compare_nodes(const Topology& original, const Topology& copy,
                   std::vector<std::string>& losses) {
    std::map<std::string_view, const Node*> copied;
    for (const Node& node : copy.nodes()) copied[node.id] = &node;
    for (const Node& node : original.nodes()) {
        const auto found = copied.find(node.id);
        if (found == copied.end()) {
            losses.push_back(describe(node) + " is left out");
        } else if (*found->second != node) {
            losses.push_back(describe(node) + " loses details");
        }
    }
    if (copy.nodes().size() > original.nodes().size()) losses.push_back("nodes are added");
}

void compare_links(const Topology& original, const Topology& copy,
                   std::vector<std::string>& losses) {
    const auto links = links_by_ids(original);
    const auto copied = links_by_ids(copy);
    for (const auto& [key, link] : links) {
        const auto found = copied.find(key);
        if (found == copied.end()) {
            losses.push_back(describe(key) + " is left out");
        } else if (!same_figures(*found->second, *link)) {
            losses.push_back(describe(key) + " changes");
        }
    }
    for (const auto& [key, link] : copied) {
        if (!links.contains(key)) losses.push_back(describe(key) + " is added");
    }
}

void compare_gpu_numbers(const Topology& original, const Topology& copy,
                         std::vector<std::string>& losses) {
    for (int gpu = 0; gpu < std::min(original.gpu_count(), copy.gpu_count()); ++gpu) {
        const auto id = [gpu](const Topology& topology) -> const std::string& {
            return topology.nodes()[static_cast<std::size_t>(topology.gpu_node(gpu))].id;
        };
        if (id(original) != id(copy)) {
            losses.push_back("GPU " + std::to_string(gpu) + " was " + in_quotes(id(original)) +
                             " and becomes " + in_quotes(id(copy)));
        }
    }
}

}  // namespace

std::vector<std::string> find_losses(const Topology& original, const Topology& copy) {
    std::vector<std::string> losses;
    compare_nodes(original, copy, losses);
    compare_links(original, copy, losses);
    compare_gpu_numbers(original, copy, losses);
    if (original.pci_peer_access() != copy.pci_peer_access()) {
        losses.push_back("whether PCI peers may reach each other changes");
    }
    if (original.no_peer_access() != copy.no_peer_access()) {
        losses.push_back("the pairs of GPUs that can't reach each other are left out");
    }
    return losses;
}

}  // namespace rondo
