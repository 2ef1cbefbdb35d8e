// Graphs as values: adding, checking, inheriting strategies.
#include "rondo/training/graph.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace rondo::training {
namespace {

constexpr std::uint32_t node_width_limit = 1 << 20;

void check_node_shape(const Node& node) {
    const bool several = node.operation == Operation::add || node.operation == Operation::concat;
    if (several ? node.inputs.size() < 2 : node.inputs.size() > 1) {
        throw InvalidArgument(fmt::format("node '{}' ({}) has {} inputs; it needs {}", node.id,
                                          to_string(node.operation), node.inputs.size(),
                                          several ? "two or more" : "one"));
    }
    const bool dense = node.operation == Operation::dense;
    if (dense ? node.width == 0 || node.width > node_width_limit : node.width != 0) {
        throw InvalidArgument(
            dense ? fmt::format("the width of node '{}' is {}; it must be 1 to {}", node.id,
                                node.width, node_width_limit)
                  : fmt::format("node '{}' ({}) takes its width from its inputs; {} was given",
                                node.id, to_string(node.operation), node.width));
    }
}

}  // namespace

Graph& Graph::add(Node node, std::string_view subgraph) {
    const std::size_t home = find_subgraph(subgraph);
    if (node.id.empty() || node.id == graph_input) {
        throw InvalidArgument(fmt::format("a node can't be called '{}'", node.id));
    }
    if (std::ranges::find(nodes_, node.id, &Node::id) != nodes_.end()) {
        throw InvalidArgument(fmt::format("there is a node '{}' already", node.id));
    }
    if (node.inputs.empty()) {
        node.inputs.push_back(nodes_.empty() ? std::string(graph_input) : nodes_.back().id);
    }
    for (const std::string& input : node.inputs) {
        if (std::ranges::count(node.inputs, input) > 1) {
            throw InvalidArgument(
                fmt::format("node '{}' has the input '{}' twice", node.id, input));
        }
        if (input != graph_input && std::ranges::find(nodes_, input, &Node::id) == nodes_.end()) {
            throw InvalidArgument(fmt::format(
                "node '{}' has the input '{}', which was not added before", node.id, input));
        }
    }
    check_node_shape(node);
    nodes_.push_back(std::move(node));
    homes_.push_back(home);
    return *this;
}

Graph& Graph::add_subgraph(std::string id, std::string_view parent) {
    const std::size_t above = find_subgraph(parent);
    if (id.empty() || std::ranges::find(subgraphs_, id, &Subgraph::id) != subgraphs_.end()) {
        throw InvalidArgument(fmt::format("a subgraph can't be called '{}': {}", id,
                                          id.empty() ? "that is the graph itself" : "it is taken"));
    }
    subgraphs_.push_back({std::move(id), above, {}});
    return *this;
}

std::size_t Graph::find_subgraph(std::string_view id) const {
    const auto found = std::ranges::find(subgraphs_, id, &Subgraph::id);
    if (found == subgraphs_.end()) {
        throw InvalidArgument(fmt::format("there is no subgraph '{}'", id));
    }
    return static_cast<std::size_t>(found - subgraphs_.begin());
}

std::size_t Graph::find_node(std::string_view id) const {
    const auto found = std::ranges::find(nodes_, id, &Node::id);
    if (found == nodes_.end()) throw InvalidArgument(fmt::format("there is no node '{}'", id));
    return static_cast<std::size_t>(found - nodes_.begin());
}

const std::string& Graph::subgraph_of(std::string_view node) const {
    return subgraphs_[homes_[find_node(node)]].id;
}

std::vector<std::string> Graph::subgraphs() const {
    std::vector<std::string> ids;
    for (std::size_t i = 1; i < subgraphs_.size(); ++i) ids.push_back(subgraphs_[i].id);
    return ids;
}

void Graph::set_strategy(std::string_view subgraph, TrainingStrategy strategy) {
    validate(strategy);
    subgraphs_[find_subgraph(subgraph)].strategy = std::move(strategy);
}

const std::optional<TrainingStrategy>& Graph::own_strategy(std::string_view subgraph) const {
    return subgraphs_[find_subgraph(subgraph)].strategy;
}

const TrainingStrategy& Graph::effective_strategy(std::string_view subgraph) const {
    static const TrainingStrategy local;
    for (std::size_t at = find_subgraph(subgraph);; at = subgraphs_[at].parent) {
        if (subgraphs_[at].strategy) return *subgraphs_[at].strategy;
        if (at == 0) return local;
    }
}

const TrainingStrategy& Graph::strategy_of_node(std::string_view node) const {
    return effective_strategy(subgraph_of(node));
}

const TrainingStrategy* Graph::strategy_below_root(std::string_view node) const {
    for (std::size_t at = homes_[find_node(node)]; at != 0; at = subgraphs_[at].parent) {
        if (subgraphs_[at].strategy) return &*subgraphs_[at].strategy;
    }
    return nullptr;
}

Graph linear_model(std::uint32_t outputs, Loss loss) {
    Graph graph(loss);
    graph.add(dense("linear", outputs));
    return graph;
}

Graph dense_network(std::span<const std::uint32_t> hidden, std::uint32_t outputs, Loss loss,
                    Operation bend) {
    Graph graph(loss);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
        graph.add(dense(fmt::format("dense{}", i), hidden[i]));
        graph.add(activation(fmt::format("activation{}", i), bend));
    }
    graph.add(dense(fmt::format("dense{}", hidden.size()), outputs));
    return graph;
}

std::string_view to_string(Operation operation) {
    static constexpr std::array<std::string_view, 6> texts{"dense",   "relu", "tanh",
                                                           "sigmoid", "add",  "concat"};
    return texts.at(static_cast<std::size_t>(operation));
}

std::string_view to_string(Loss loss) {
    static constexpr std::array<std::string_view, 3> texts{"cross_entropy", "squared_error",
                                                           "absolute_error"};
    return texts.at(static_cast<std::size_t>(loss));
}

}  // namespace rondo::training
