// Strategies as JSON and as text for people.
#include <fmt/format.h>

#include "rondo/training/strategy.hpp"
#include "training/strategy/json_fields.hpp"
#include "training/strategy/names.hpp"

namespace rondo::training {
namespace {

/// An object that begins with the name of the variant.
template <class Variant, std::size_t size>
OrderedJson named(const Variant& value, const std::array<std::string_view, size>& names) {
    return {{"kind", names[value.index()]}};
}

struct AggregationFields {
    OrderedJson& json;
    void operator()(const FedAvg&) const {}
    void operator()(const FedProx& a) const { json["mu"] = a.mu; }
    void operator()(const FedMedian&) const {}
    void operator()(const FedTrimmedAvg& a) const { json["beta"] = a.beta; }
    void operator()(const Krum& a) const { json["byzantine"] = a.byzantine; }
    void operator()(const MultiKrum& a) const {
        json["byzantine"] = a.byzantine;
        json["keep"] = a.keep;
    }
    void operator()(const FedAvgM& a) const {
        json["server_learning_rate"] = a.server_learning_rate;
        json["server_momentum"] = a.server_momentum;
    }
    void operator()(const FedAdam& a) const {
        json["eta"] = a.eta;
        json["beta1"] = a.beta1;
        json["beta2"] = a.beta2;
        json["tau"] = a.tau;
        json["bias_correction"] = a.bias_correction;
    }
};

struct SelectionFields {
    OrderedJson& json;
    void operator()(const SelectAll&) const {}
    void operator()(const SelectRandom& s) const {
        json["fraction"] = s.fraction;
        json["minimum"] = s.minimum;
        json["seed"] = s.seed;
    }
    void operator()(const SelectRoundRobin& s) const {
        json["clients_per_round"] = s.clients_per_round;
    }
};

struct EvolutionFields {
    OrderedJson& json;
    void operator()(const Truncation& e) const { json["fraction"] = e.fraction; }
    void operator()(const BinaryTournament&) const {}
    void operator()(const Perturb& e) const { json["factors"] = e.factors; }
    void operator()(const Resample& e) const { json["probability"] = e.probability; }
    void operator()(const PerturbOrResample& e) const {
        json["factors"] = e.factors;
        json["probability"] = e.probability;
    }
};

template <class Fields, class Variant, std::size_t size>
OrderedJson variant_json(const Variant& value, const std::array<std::string_view, size>& names) {
    OrderedJson json = named(value, names);
    std::visit(Fields{json}, value);
    return json;
}

struct StrategyFields {
    OrderedJson& json;
    void operator()(const Local&) const {}
    void operator()(const DataParallel& s) const {
        json["num_replicas"] = s.num_replicas;
        json["aggregation"] = to_string(s.aggregation);
    }
    void operator()(const ModelParallel& s) const {
        json["partitions"] = OrderedJson::array();
        for (const Partition& partition : s.partitions) {
            json["partitions"].push_back(
                {{"worker", partition.worker}, {"nodes", partition.nodes}});
        }
        json["communication"] = to_string(s.communication);
        json["micro_batches"] = s.micro_batches;
        json["pipeline"] = to_string(s.pipeline);
    }
    void operator()(const Federated& s) const {
        json["num_clients"] = s.num_clients;
        json["rounds"] = s.rounds;
        json["aggregation"] =
            variant_json<AggregationFields>(s.aggregation, names::federated_aggregations);
        json["client_selection"] =
            variant_json<SelectionFields>(s.client_selection, names::selections);
    }
    void operator()(const PopulationBased& s) const {
        json["population_size"] = s.population_size;
        json["generations"] = s.generations;
        json["exploit"] = variant_json<EvolutionFields>(s.exploit, names::exploits);
        json["explore"] = variant_json<EvolutionFields>(s.explore, names::explores);
        json["hyperparameters"] = OrderedJson::array();
        for (const Hyperparameter& setting : s.hyperparameters) {
            json["hyperparameters"].push_back({{"name", setting.name},
                                               {"low", setting.low},
                                               {"high", setting.high},
                                               {"logarithmic", setting.logarithmic}});
        }
    }
    void operator()(const Custom& s) const {
        json["coordinator"] = s.coordinator;
        json["config"] = parse_bounded_json(s.config);
    }
};

struct StrategyText {
    std::string operator()(const Local&) const { return "local"; }
    std::string operator()(const DataParallel& s) const {
        return fmt::format("data_parallel({} replicas, {})", s.num_replicas,
                           to_string(s.aggregation));
    }
    std::string operator()(const ModelParallel& s) const {
        return fmt::format("model_parallel({} partitions, {} micro-batches, {}, {})",
                           s.partitions.size(), s.micro_batches, to_string(s.pipeline),
                           to_string(s.communication));
    }
    std::string operator()(const Federated& s) const {
        return fmt::format("federated({} clients, {} rounds, {}, {})", s.num_clients, s.rounds,
                           names::federated_aggregations[s.aggregation.index()],
                           names::selections[s.client_selection.index()]);
    }
    std::string operator()(const PopulationBased& s) const {
        return fmt::format("population_based({} members, {} generations, {}, {})",
                           s.population_size, s.generations, names::exploits[s.exploit.index()],
                           names::explores[s.explore.index()]);
    }
    std::string operator()(const Custom& s) const {
        return fmt::format("custom({})", s.coordinator);
    }
};

}  // namespace

std::string_view kind_name(const TrainingStrategy& strategy) {
    return names::strategies[strategy.value().index()];
}

std::string to_string(const TrainingStrategy& strategy) {
    return std::visit(StrategyText{}, strategy.value());
}

std::string to_json(const TrainingStrategy& strategy) {
    OrderedJson json{{"strategy", kind_name(strategy)}};
    std::visit(StrategyFields{json}, strategy.value());
    try {
        return json.dump(2);
    } catch (const OrderedJson::exception& error) {
        throw InvalidArgument(
            fmt::format("the strategy can't be written as JSON: {}", error.what()));
    }
}

std::string_view to_string(GradientAggregation aggregation) {
    return names::aggregations.at(static_cast<std::size_t>(aggregation));
}

std::string_view to_string(CommunicationProtocol protocol) {
    return names::protocols.at(static_cast<std::size_t>(protocol));
}

std::string_view to_string(PipelineKind kind) {
    return names::pipelines.at(static_cast<std::size_t>(kind));
}

}  // namespace rondo::training
