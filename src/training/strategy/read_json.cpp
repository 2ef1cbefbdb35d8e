// Strategies from JSON.
#include <fmt/format.h>

#include "rondo/training/strategy.hpp"
#include "training/strategy/json_fields.hpp"
#include "training/strategy/names.hpp"

namespace rondo::training {
namespace {

/// The place of a name in its table. A name that is not there may come from a newer version.
template <std::size_t size>
std::size_t find_name(JsonFields& fields, std::string_view key,
                      const std::array<std::string_view, size>& names) {
    const std::string text = fields.text(key);
    std::string known;
    for (std::size_t i = 0; i < size; ++i) {
        if (names[i] == text) return i;
        known += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    fields.fail(key,
                fmt::format("is '{}', which this version does not know; it knows {}", text, known));
}

template <class Enum, std::size_t size>
Enum enum_or(JsonFields& fields, std::string_view key,
             const std::array<std::string_view, size>& names, Enum otherwise) {
    return fields.has(key) ? static_cast<Enum>(find_name(fields, key, names)) : otherwise;
}

FederatedAggregation read_aggregation(JsonFields fields) {
    const auto read = [&]() -> FederatedAggregation {
        switch (find_name(fields, "kind", names::federated_aggregations)) {
            case 1:
                return FedProx{.mu = fields.number_or("mu", FedProx{}.mu)};
            case 2:
                return FedMedian{};
            case 3:
                return FedTrimmedAvg{.beta = fields.number_or("beta", FedTrimmedAvg{}.beta)};
            case 4:
                return Krum{.byzantine = fields.small_or("byzantine", 0)};
            case 5:
                return MultiKrum{.byzantine = fields.small_or("byzantine", 0),
                                 .keep = fields.small_or("keep", 0)};
            case 6: {
                const FedAvgM otherwise;
                return FedAvgM{.server_learning_rate = fields.number_or(
                                   "server_learning_rate", otherwise.server_learning_rate),
                               .server_momentum =
                                   fields.number_or("server_momentum", otherwise.server_momentum)};
            }
            case 7: {
                const FedAdam otherwise;
                return FedAdam{.eta = fields.number_or("eta", otherwise.eta),
                               .beta1 = fields.number_or("beta1", otherwise.beta1),
                               .beta2 = fields.number_or("beta2", otherwise.beta2),
                               .tau = fields.number_or("tau", otherwise.tau),
                               .bias_correction =
                                   fields.boolean_or("bias_correction", otherwise.bias_correction)};
            }
            default:
                return FedAvg{};
        }
    };
    const FederatedAggregation result = read();
    fields.finish();
    return result;
}

ClientSelection read_selection(JsonFields fields) {
    ClientSelection result = SelectAll{};
    switch (find_name(fields, "kind", names::selections)) {
        case 1:
            result = SelectRandom{.fraction = fields.number_or("fraction", 1.0),
                                  .minimum = fields.small_or("minimum", 1),
                                  .seed = fields.unsigned_or("seed", 0)};
            break;
        case 2:
            result = SelectRoundRobin{.clients_per_round = fields.small_or("clients_per_round", 1)};
            break;
        default:
            break;
    }
    fields.finish();
    return result;
}

ExploitStrategy read_exploit(JsonFields fields) {
    ExploitStrategy result = BinaryTournament{};
    if (find_name(fields, "kind", names::exploits) == 0) {
        result = Truncation{.fraction = fields.number_or("fraction", Truncation{}.fraction)};
    }
    fields.finish();
    return result;
}

ExploreStrategy read_explore(JsonFields fields) {
    const std::size_t kind = find_name(fields, "kind", names::explores);
    const bool with_factors = kind != 1, with_probability = kind != 0;
    const std::vector<double> factors =
        with_factors && fields.has("factors") ? fields.numbers("factors") : Perturb{}.factors;
    const double probability = with_probability
                                   ? fields.number_or("probability", Resample{}.probability)
                                   : Resample{}.probability;
    fields.finish();
    if (kind == 0) return Perturb{.factors = factors};
    if (kind == 1) return Resample{.probability = probability};
    return PerturbOrResample{.factors = factors, .probability = probability};
}

Hyperparameter read_hyperparameter(JsonFields fields) {
    const Hyperparameter otherwise;
    const Hyperparameter result{.name = fields.text_or("name", otherwise.name),
                                .low = fields.number_or("low", otherwise.low),
                                .high = fields.number_or("high", otherwise.high),
                                .logarithmic = fields.boolean_or("logarithmic", true)};
    fields.finish();
    return result;
}

DataParallel read_data_parallel(JsonFields& fields) {
    return {.num_replicas = fields.small_number("num_replicas"),
            .aggregation = enum_or(fields, "aggregation", names::aggregations,
                                   GradientAggregation::weighted_mean)};
}

ModelParallel read_model_parallel(JsonFields& fields) {
    const ModelParallel otherwise;
    ModelParallel result;
    for (JsonFields& partition : fields.objects("partitions")) {
        result.partitions.push_back(
            {.nodes = partition.texts("nodes"), .worker = partition.small_number("worker")});
        partition.finish();
    }
    result.communication =
        enum_or(fields, "communication", names::protocols, otherwise.communication);
    result.micro_batches = fields.small_or("micro_batches", otherwise.micro_batches);
    result.pipeline = enum_or(fields, "pipeline", names::pipelines, otherwise.pipeline);
    return result;
}

Federated read_federated(JsonFields& fields) {
    Federated result{.num_clients = fields.small_number("num_clients"),
                     .rounds = fields.small_number("rounds")};
    if (fields.has("aggregation")) {
        result.aggregation = read_aggregation(fields.object("aggregation"));
    }
    if (fields.has("client_selection")) {
        result.client_selection = read_selection(fields.object("client_selection"));
    }
    return result;
}

PopulationBased read_population_based(JsonFields& fields) {
    PopulationBased result{.population_size = fields.small_number("population_size"),
                           .generations = fields.small_number("generations")};
    if (fields.has("exploit")) result.exploit = read_exploit(fields.object("exploit"));
    if (fields.has("explore")) result.explore = read_explore(fields.object("explore"));
    if (fields.has("hyperparameters")) {
        result.hyperparameters.clear();
        for (JsonFields& setting : fields.objects("hyperparameters")) {
            result.hyperparameters.push_back(read_hyperparameter(setting));
        }
    }
    return result;
}

TrainingStrategy read_training_strategy(JsonFields& fields) {
    switch (find_name(fields, "strategy", names::strategies)) {
        case 1:
            return read_data_parallel(fields);
        case 2:
            return read_model_parallel(fields);
        case 3:
            return read_federated(fields);
        case 4:
            return read_population_based(fields);
        case 5:
            return Custom{.coordinator = fields.text("coordinator"),
                          .config = fields.has("config") ? fields.any("config").dump() : "{}"};
        default:
            return Local{};
    }
}

}  // namespace

TrainingStrategy training_strategy_from_json(std::string_view text) {
    const OrderedJson json = parse_bounded_json(text);
    JsonFields fields(json, "");
    const TrainingStrategy strategy = read_training_strategy(fields);
    fields.finish();
    validate(strategy);
    return strategy;
}

}  // namespace rondo::training
