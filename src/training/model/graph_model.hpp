// A graph as a model: all its nodes on one device.
#pragma once

#include "rondo/training/model.hpp"
#include "training/model/graph_plan.hpp"

namespace rondo::training {

class GraphModel final : public Model {
public:
    /// Throws where plan_graph() does.
    GraphModel(const Graph& graph, const DataSource& data) : plan_(plan_graph(graph, data)) {}

    const GraphPlan& plan() const { return plan_; }
    std::vector<ParameterInfo> parameters() const override { return plan_.parameters; }
    void initialize(std::span<float> parameters, std::uint64_t seed) const override {
        initialize_graph(plan_, parameters, seed);
    }
    std::unique_ptr<ModelInstance> instantiate(int device, const DataSource& data,
                                               std::size_t max_samples) const override;

private:
    GraphPlan plan_;
};

}  // namespace rondo::training
