// Graphs as values.
#include "vgpu/graph.hpp"

#include <algorithm>
#include <unordered_set>

namespace vgpu {

GraphNode* Graph::add(cudaGraphNodeType type, Command command, int device,
                      std::vector<GraphNode*> dependencies) {
    auto node = std::make_unique<GraphNode>();
    node->graph = this;
    node->type = type;
    node->command = std::move(command);
    node->device = device;
    node->dependencies = std::move(dependencies);
    return nodes.emplace_back(std::move(node)).get();
}

bool Graph::contains(const GraphNode* node) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [node](const auto& each) { return each.get() == node; });
}

std::vector<GraphNode*> Graph::leaves() const {
    std::unordered_set<const GraphNode*> needed;
    for (const auto& node : nodes)
        needed.insert(node->dependencies.begin(), node->dependencies.end());
    std::vector<GraphNode*> result;
    for (const auto& node : nodes) {
        if (!needed.contains(node.get())) result.push_back(node.get());
    }
    return result;
}

std::vector<GraphNode*> Graph::in_order() const {
    std::unordered_map<const GraphNode*, std::size_t> unmet;
    std::unordered_map<const GraphNode*, std::vector<GraphNode*>> dependents;
    std::vector<GraphNode*> order;
    for (const auto& node : nodes) {
        unmet[node.get()] = node->dependencies.size();
        for (const GraphNode* dependency : node->dependencies)
            dependents[dependency].push_back(node.get());
        if (node->dependencies.empty()) order.push_back(node.get());
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (GraphNode* next : dependents[order[i]]) {
            if (--unmet[next] == 0) order.push_back(next);
        }
    }
    if (order.size() != nodes.size()) order.clear();
    return order;
}

}  // namespace vgpu
