// A network as a graph of nodes, with subgraphs that may be trained in ways of their own.
//
//     Graph graph(Loss::cross_entropy);
//     graph.add(dense("hidden", 64)).add(activation("bend", Operation::tanh));
//     graph.add_subgraph("head");
//     graph.add(dense("out", 10), "head");
//     graph.set_strategy(DataParallel{.num_replicas = 4});  // of the whole graph
//     graph.set_strategy("head", Local{});                  // its parameters stay with the replica
//     graph.effective_strategy("head");                     // Local; without that line
//     DataParallel
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/training/strategy.hpp"

namespace rondo::training {

enum class Operation : std::uint8_t {
    dense,  ///< x W + b, `width` outputs
    relu,
    tanh,
    sigmoid,
    add,    ///< the sum of its inputs, all of one width
    concat  ///< its inputs side by side
};

enum class Loss : std::uint8_t {
    cross_entropy,  ///< of the softmax of the last node, one output per class
    squared_error,  ///< mean of (y - t)^2
    absolute_error  ///< mean of |y - t|
};

/// The name of the input of the whole graph.
inline constexpr std::string_view graph_input = "input";

struct Node {
    std::string id = {};
    Operation operation = Operation::dense;
    std::uint32_t width = 0;  ///< of dense nodes; the others take it from their inputs
    /// Nodes that were added before, or graph_input. Empty: the node added before this one.
    std::vector<std::string> inputs = {};

    bool operator==(const Node&) const = default;
};

inline Node dense(std::string id, std::uint32_t width, std::vector<std::string> inputs = {}) {
    return {.id = std::move(id), .width = width, .inputs = std::move(inputs)};
}
inline Node activation(std::string id, Operation operation, std::vector<std::string> inputs = {}) {
    return {.id = std::move(id), .operation = operation, .inputs = std::move(inputs)};
}

/// A value: copies are independent. The last node added is the output. Nodes are computed in the
/// order in which they were added, so there are no cycles.
class RONDO_API Graph {
public:
    /// The root; what a subgraph without a parent is in.
    static constexpr std::string_view root = "";

    explicit Graph(Loss loss = Loss::cross_entropy) : loss_(loss) {}

    /// Adds a node to a subgraph. Throws InvalidArgument for an id that is empty or taken, inputs
    /// or a subgraph that are not there, a wrong number of inputs, or a width that does not fit.
    Graph& add(Node node, std::string_view subgraph = root);
    /// Throws InvalidArgument for an id that is empty or taken, or a parent that is not there.
    Graph& add_subgraph(std::string id, std::string_view parent = root);

    Loss loss() const { return loss_; }
    std::span<const Node> nodes() const { return nodes_; }
    /// The subgraph of a node; root for most.
    const std::string& subgraph_of(std::string_view node) const;
    /// All subgraphs but the root, parents before children.
    std::vector<std::string> subgraphs() const;

    /// How the graph, or a subgraph, is trained. Throws InvalidArgument where validate() does, and
    /// for a subgraph that is not there.
    void set_strategy(TrainingStrategy strategy) { set_strategy(root, std::move(strategy)); }
    void set_strategy(std::string_view subgraph, TrainingStrategy strategy);
    /// What was set for this very subgraph.
    const std::optional<TrainingStrategy>& own_strategy(std::string_view subgraph = root) const;
    /// Its own, or that of the nearest graph around it that has one, or Local.
    const TrainingStrategy& effective_strategy(std::string_view subgraph = root) const;
    /// That of the node's subgraph.
    const TrainingStrategy& strategy_of_node(std::string_view node) const;
    /// The same, but null where the node inherits from the root.
    const TrainingStrategy* strategy_below_root(std::string_view node) const;

private:
    struct Subgraph {
        std::string id;
        std::size_t parent;
        std::optional<TrainingStrategy> strategy;
    };
    std::size_t find_subgraph(std::string_view id) const;
    std::size_t find_node(std::string_view id) const;

    Loss loss_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> homes_;  ///< subgraph of each node
    std::vector<Subgraph> subgraphs_ = {{"", 0, {}}};
};

/// One dense node, "linear".
RONDO_API Graph linear_model(std::uint32_t outputs, Loss loss = Loss::squared_error);
/// Dense nodes "dense0", "dense1", ... with activations "activation0", ... between them. The last
/// has `outputs` outputs and no activation.
RONDO_API Graph dense_network(std::span<const std::uint32_t> hidden, std::uint32_t outputs,
                              Loss loss = Loss::cross_entropy,
                              Operation activation = Operation::tanh);

RONDO_API std::string_view to_string(Operation operation);
RONDO_API std::string_view to_string(Loss loss);

}  // namespace rondo::training
