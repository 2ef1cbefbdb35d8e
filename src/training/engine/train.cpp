// train() and evaluate(): checks what was asked, and gives it to the coordinator of the strategy.
#include "rondo/training/train.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda/device.hpp"
#include "training/engine/coordinators.hpp"
#include "training/engine/evaluator.hpp"
#include "training/report/writable.hpp"

namespace rondo::training {
namespace {

std::vector<int> devices_to_use(const TrainingOptions& options) {
    const int count = device_count();
    std::vector<int> devices = options.devices;
    for (int device = 0; options.devices.empty() && device < count; ++device) {
        devices.push_back(device);
    }
    if (devices.empty()) throw InvalidArgument("no GPU was found to train on");
    for (const int device : devices) {
        if (device < 0 || device >= count) {
            throw InvalidArgument(
                fmt::format("device {} does not exist; there are {}", device, count));
        }
    }
    return devices;
}

std::string shape_of(const DataSource& data) {
    return fmt::format("{} features, {} targets and {} classes", data.feature_count(),
                       data.target_count(), data.class_count());
}

void check_options(const TrainingOptions& options, const DataSource& data) {
    const auto require = [](bool fine, const char* what) {
        if (!fine) throw InvalidArgument(what);
    };
    require(options.batch_size > 0, "the batch size is 0; it must be at least 1");
    require(options.accumulation > 0, "the accumulation is 0; it must be at least 1");
    require(options.timeout.count() >= 0, "the timeout is negative");
    require(options.population.epochs_per_generation > 0,
            "a generation of 0 epochs learns nothing");
    require(options.federated.local_epochs > 0, "a client that trains 0 epochs learns nothing");
    require(data.size() > 0, "there are no samples to train on");
    require(data.feature_count() > 0 && data.target_count() > 0,
            "the data has no features or no targets");
    require(options.patience == 0 || options.validation != nullptr,
            "patience needs validation data");
    validate(options.optimizer);
    const DataSource* const validation = options.validation;
    if (validation != nullptr && shape_of(*validation) != shape_of(data)) {
        throw InvalidArgument(fmt::format("the validation data has {}, the training data {}",
                                          shape_of(*validation), shape_of(data)));
    }
    if (validation != nullptr && validation->size() == 0) {
        throw InvalidArgument("there are no samples in the validation data");
    }
}

/// Parameters of Local subgraphs stay with a client. Anything else can't be nested there.
std::vector<bool> personal_parameters(const Graph* graph, const TrainingJob& job) {
    std::vector<bool> personal(job.model.parameters().size());
    if (graph == nullptr) return personal;
    for (const std::string& subgraph : graph->subgraphs()) {
        const std::optional<TrainingStrategy>& own = graph->own_strategy(subgraph);
        const bool fits = !own || *own == job.strategy || own->get_if<Local>() != nullptr;
        const bool federated = job.strategy.get_if<Federated>() != nullptr;
        if (!fits || (own && *own != job.strategy && !federated)) {
            refuse_nesting(subgraph, *own, job.strategy);
        }
    }
    for (std::size_t p = 0; p < personal.size(); ++p) {
        const GraphPlan& plan = job.graph->plan();
        const TrainingStrategy* const own =
            graph->strategy_below_root(plan.nodes[plan.owners[p]].id);
        personal[p] = own != nullptr && own->get_if<Local>() != nullptr;
    }
    return personal;
}

TrainingReport run_job(const TrainingJob& job, const Graph* graph) {
    if (job.strategy.get_if<Federated>() != nullptr) {
        return train_federated(job, personal_parameters(graph, job));
    }
    if (job.strategy.get_if<PopulationBased>() != nullptr) {
        personal_parameters(graph, job);
        return train_population(job);
    }
    if (job.strategy.get_if<Custom>() != nullptr) return train_custom(job);
    const TrainingLayout layout = graph != nullptr
                                      ? lay_out_graph(*graph, job.graph->plan(), job.strategy)
                                      : lay_out_model(job.model, job.strategy);
    return train_replicas(job, layout);
}

TrainingReport train_any(const Model& model, const GraphModel* graph_model, const Graph* graph,
                         const TrainingStrategy& strategy, const DataSource& data,
                         const TrainingOptions& options) {
    validate(strategy);
    check_options(options, data);
    require_writable(options.checkpoint);
    const auto begin = std::chrono::steady_clock::now();
    TrainingOptions effective = options;
    effective.batch_size = std::min(options.batch_size, data.size());
    const TrainingJob job{
        model, graph_model, graph, data, effective, strategy, devices_to_use(options)};
    TrainingReport report = run_job(job, graph);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace

TrainingReport train(const Graph& graph, const TrainingStrategy& strategy, const DataSource& data,
                     const TrainingOptions& options) {
    const GraphModel model(graph, data);
    return train_any(model, &model, &graph, strategy, data, options);
}

TrainingReport train(const Graph& graph, const DataSource& data, const TrainingOptions& options) {
    return train(graph, graph.effective_strategy(), data, options);
}

TrainingReport train(const Model& model, const TrainingStrategy& strategy, const DataSource& data,
                     const TrainingOptions& options) {
    return train_any(model, nullptr, nullptr, strategy, data, options);
}

Evaluation evaluate(const Model& model, std::span<const float> parameters, const DataSource& data,
                    int device) {
    const std::size_t count = parameter_count(model.parameters());
    if (parameters.size() != count) {
        throw InvalidArgument(fmt::format("{} parameters were given to a model that has {}",
                                          parameters.size(), count));
    }
    return Evaluator(model, data, device).evaluate(parameters);
}

Evaluation evaluate(const Graph& graph, std::span<const float> parameters, const DataSource& data,
                    int device) {
    return evaluate(GraphModel(graph, data), parameters, data, device);
}

std::vector<float> initial_parameters(const Graph& graph, const DataSource& data,
                                      std::uint64_t seed) {
    const GraphModel model(graph, data);
    std::vector<float> parameters(parameter_count(model.parameters()));
    model.initialize(parameters, seed);
    return parameters;
}

}  // namespace rondo::training
