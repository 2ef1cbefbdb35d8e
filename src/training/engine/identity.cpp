// See the header.
#include "training/engine/identity.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "training/data/digest.hpp"

namespace rondo::training {
namespace {

TrainingStrategy without_rounds(const TrainingStrategy& strategy) {
    if (const auto* federated = strategy.get_if<Federated>()) {
        Federated copy = *federated;
        copy.rounds = 1;
        return copy;
    }
    if (const auto* population = strategy.get_if<PopulationBased>()) {
        PopulationBased copy = *population;
        copy.generations = 1;
        return copy;
    }
    return strategy;
}

std::string data_identity(const char* name, const DataSource& data) {
    Digest digest;
    for (std::size_t i = 0; i < data.size(); ++i) {
        const Sample sample = data.sample(i);
        digest.add_values(sample.features);
        digest.add_values(sample.targets);
    }
    return fmt::format("{}: {} samples, {} features, {} targets, {} classes, digest {:016x}\n",
                       name, data.size(), data.feature_count(), data.target_count(),
                       data.class_count(), digest.value());
}

std::string option_identity(const TrainingOptions& options) {
    return fmt::format(
        "seed {}\nbatch size {}\naccumulation {}\nshuffle {}\noptimizer {}\n"
        "buckets of {} bytes, the first of {}, hook {}\n",
        options.seed, options.batch_size, options.accumulation, options.shuffle,
        to_string(options.optimizer), options.buckets.bucket_bytes,
        options.buckets.first_bucket_bytes, static_cast<int>(options.buckets.hook));
}

std::string strategy_option_identity(const TrainingJob& job) {
    const FederatedOptions& federated = job.options.federated;
    const PopulationOptions& population = job.options.population;
    if (job.strategy.get_if<Federated>() != nullptr) {
        std::string text = fmt::format("local epochs {}\nlocal steps {}\n", federated.local_epochs,
                                       federated.local_steps);
        Digest owners;
        for (std::size_t i = 0; federated.owner && i < job.data.size(); ++i) {
            owners.add_values(std::vector<std::uint64_t>{federated.owner(i)});
        }
        return text + fmt::format("owners {:016x}\n", federated.owner ? owners.value() : 0);
    }
    if (job.strategy.get_if<PopulationBased>() != nullptr) {
        return fmt::format("epochs per generation {}\nsteps per generation {}\ninitial {}\n",
                           population.epochs_per_generation, population.steps_per_generation,
                           population.initial);
    }
    return {};
}

std::string graph_identity(const Graph& graph) {
    std::string text = fmt::format("loss {}\n", to_string(graph.loss()));
    for (const Node& node : graph.nodes()) {
        text += fmt::format("node {} in '{}': {} of {}\n", node.id, graph.subgraph_of(node.id),
                            to_string(node.operation), node.inputs);
    }
    for (const std::string& subgraph : graph.subgraphs()) {
        const std::optional<TrainingStrategy>& own = graph.own_strategy(subgraph);
        if (own) text += fmt::format("subgraph '{}': {}\n", subgraph, to_json(*own));
    }
    return text;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Lines of `these` that `others` has not.
std::string only_in(const std::string& these, const std::string& others) {
    const std::vector<std::string> known = lines_of(others);
    std::string text;
    for (const std::string& line : lines_of(these)) {
        if (std::ranges::find(known, line) == known.end()) text += "\n  " + line;
    }
    return text.empty() ? "\n  nothing else" : text;
}

}  // namespace

std::string run_identity(const TrainingJob& job) {
    const TrainingOptions& options = job.options;
    if (options.checkpoint.empty() && options.resume.empty()) return {};
    std::string text = to_json(without_rounds(job.strategy)) + "\n";
    text += option_identity(options) + strategy_option_identity(job);
    text += data_identity("data", job.data);
    if (options.validation != nullptr) text += data_identity("validation", *options.validation);
    for (const ParameterInfo& info : job.model.parameters()) {
        text += fmt::format("parameter {}: {}\n", info.name, info.size);
    }
    if (job.source != nullptr) text += graph_identity(*job.source);
    return text;
}

std::string describe_difference(const std::string& file, const std::string& run) {
    return fmt::format("The file says:{}\nthis run is:{}", only_in(file, run), only_in(run, file));
}

}  // namespace rondo::training
