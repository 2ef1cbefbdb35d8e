// A graph made ready for data of certain widths: what each node computes, and where its parameters
// are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "rondo/training/graph.hpp"
#include "rondo/training/model.hpp"

namespace rondo::training {

/// Stands for the input of the graph among the inputs of a node.
inline constexpr std::size_t input_node = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t no_parameter = std::numeric_limits<std::size_t>::max();

struct PlannedNode {
    std::string id;
    Operation operation;
    std::vector<std::size_t> inputs;
    std::size_t width = 0;
    std::size_t weights = no_parameter;  ///< dense: a parameter; the bias is the next
    bool live = false;                   ///< the output depends on it; the others are not computed

    std::size_t input_width(const struct GraphPlan& plan, std::size_t position) const;
};

struct GraphPlan {
    Loss loss;
    std::size_t feature_count;
    std::size_t target_count;
    std::vector<PlannedNode> nodes;
    std::vector<ParameterInfo> parameters;
    std::vector<std::size_t> offsets;  ///< of the parameters, in the array of all
    std::vector<std::size_t> owners;   ///< node of each parameter
    std::size_t parameter_count = 0;

    std::size_t width_of(std::size_t node) const {
        return node == input_node ? feature_count : nodes[node].width;
    }
    std::size_t output() const { return nodes.size() - 1; }
};

/// Throws InvalidArgument when the graph has no nodes, its widths don't fit together, or its output
/// does not fit the targets.
GraphPlan plan_graph(const Graph& graph, const DataSource& data);

/// What PyTorch does for linear layers: evenly from -1 / sqrt(inputs) to 1 / sqrt(inputs).
void initialize_graph(const GraphPlan& plan, std::span<float> parameters, std::uint64_t seed);

}  // namespace rondo::training
