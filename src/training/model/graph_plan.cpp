// See the header.
#include "training/model/graph_plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "training/data/random.hpp"

namespace rondo::training {
namespace {

std::size_t index_of_node(const GraphPlan& plan, const std::string& id) {
    if (id == graph_input) return input_node;
    const auto found = std::ranges::find(plan.nodes, id, &PlannedNode::id);
    return static_cast<std::size_t>(found - plan.nodes.begin());  // Graph::add() has checked it
}

std::size_t planned_width(const GraphPlan& plan, const Node& node, const PlannedNode& planned) {
    if (node.operation == Operation::dense) return node.width;
    const std::size_t first = plan.width_of(planned.inputs[0]);
    std::size_t sum = 0;
    for (const std::size_t input : planned.inputs) {
        const std::size_t width = plan.width_of(input);
        if (node.operation == Operation::add && width != first) {
            throw InvalidArgument(fmt::format("node '{}' can't add inputs of {} and {} values",
                                              node.id, first, width));
        }
        sum += width;
    }
    return node.operation == Operation::concat ? sum : first;
}

void add_parameters(GraphPlan& plan, PlannedNode& planned) {
    planned.weights = plan.parameters.size();
    const std::size_t in = plan.width_of(planned.inputs[0]);
    for (const auto& [name, size] : {ParameterInfo{planned.id + "/weight", in * planned.width},
                                     ParameterInfo{planned.id + "/bias", planned.width}}) {
        plan.offsets.push_back(plan.parameter_count);
        plan.owners.push_back(plan.nodes.size());
        plan.parameters.push_back({name, size});
        plan.parameter_count += size;
    }
}

void mark_live(GraphPlan& plan) {
    plan.nodes.back().live = true;
    for (std::size_t n = plan.nodes.size(); n-- > 0;) {
        if (!plan.nodes[n].live) continue;
        for (const std::size_t input : plan.nodes[n].inputs) {
            if (input != input_node) plan.nodes[input].live = true;
        }
    }
}

void check_output(const Graph& graph, const GraphPlan& plan, const DataSource& data) {
    const bool classes = graph.loss() == Loss::cross_entropy;
    if (classes != (data.class_count() > 0)) {
        throw InvalidArgument(fmt::format("the loss {} does not fit data with {}",
                                          to_string(graph.loss()),
                                          classes ? "numbers as targets" : "classes as targets"));
    }
    const std::size_t expected = classes ? data.class_count() : data.target_count();
    if (plan.nodes.back().width != expected) {
        throw InvalidArgument(fmt::format("the last node '{}' has {} outputs; the data has {} {}",
                                          plan.nodes.back().id, plan.nodes.back().width, expected,
                                          classes ? "classes" : "targets"));
    }
}

}  // namespace

std::size_t PlannedNode::input_width(const GraphPlan& plan, std::size_t position) const {
    return plan.width_of(inputs[position]);
}

GraphPlan plan_graph(const Graph& graph, const DataSource& data) {
    if (graph.nodes().empty()) throw InvalidArgument("the graph has no nodes");
    GraphPlan plan{.loss = graph.loss(),
                   .feature_count = data.feature_count(),
                   .target_count = data.target_count(),
                   .nodes = {},
                   .parameters = {},
                   .offsets = {},
                   .owners = {}};
    for (const Node& node : graph.nodes()) {
        PlannedNode planned{.id = node.id, .operation = node.operation, .inputs = {}};
        for (const std::string& input : node.inputs) {
            planned.inputs.push_back(index_of_node(plan, input));
        }
        planned.width = planned_width(plan, node, planned);
        if (node.operation == Operation::dense) add_parameters(plan, planned);
        plan.nodes.push_back(std::move(planned));
    }
    mark_live(plan);
    check_output(graph, plan, data);
    return plan;
}

void initialize_graph(const GraphPlan& plan, std::span<float> parameters, std::uint64_t seed) {
    for (std::size_t p = 0; p < plan.parameters.size(); ++p) {
        const PlannedNode& node = plan.nodes[plan.owners[p]];
        const double bound = 1 / std::sqrt(static_cast<double>(node.input_width(plan, 0)));
        Random random(seed, 0x1417, p);
        for (float& value : parameters.subspan(plan.offsets[p], plan.parameters[p].size)) {
            value = static_cast<float>(random.between(-bound, bound));
        }
    }
}

}  // namespace rondo::training
