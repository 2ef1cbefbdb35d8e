// Valid strategies by chance, for properties that hold for all of them.
#pragma once

#include <random>

#include "rondo/training/strategy.hpp"

namespace rondo::training::test {

class RandomStrategies {
public:
    explicit RandomStrategies(std::uint64_t seed) : random_(seed) {}

    TrainingStrategy next() {
        switch (below(6)) {
            case 1:
                return DataParallel{.num_replicas = 1 + below(100),
                                    .aggregation = static_cast<GradientAggregation>(below(3))};
            case 2:
                return model_parallel();
            case 3:
                return federated();
            case 4:
                return population_based();
            case 5:
                return Custom{.coordinator = name(),
                              .config = below(2) == 0 ? "{}" : R"({"a":[1,2.5,null,"é"]})"};
            default:
                return Local{};
        }
    }

private:
    std::uint32_t below(std::uint32_t bound) {
        return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
    }
    double share() { return std::uniform_real_distribution<double>(0, 1)(random_); }
    std::string name() {
        static const std::vector<std::string> odd{"a",   "Ünïcode", "with \"quotes\"",
                                                  "a/b", "\\",      " "};
        return odd[below(6)] + std::to_string(below(1000));
    }

    ModelParallel model_parallel() {
        ModelParallel result{.communication = static_cast<CommunicationProtocol>(below(3)),
                             .micro_batches = 1 + below(64),
                             .pipeline = static_cast<PipelineKind>(below(2))};
        int node = 0;
        for (std::uint32_t p = 0, count = 1 + below(5); p < count; ++p) {
            Partition partition{.worker = below(9)};
            for (std::uint32_t n = 0, nodes = below(4); n < nodes; ++n) {
                partition.nodes.push_back(name() + "#" + std::to_string(++node));
            }
            result.partitions.push_back(partition);
        }
        return result;
    }

    Federated federated() {
        Federated result{.num_clients = 3 + below(50), .rounds = 1 + below(9)};
        const std::uint32_t byzantine = below((result.num_clients - 3) / 2 + 1);
        const std::vector<FederatedAggregation> aggregations{
            FedAvg{},
            FedProx{share()},
            FedMedian{},
            FedTrimmedAvg{share() * 0.49},
            Krum{byzantine},
            MultiKrum{byzantine, below(result.num_clients + 1)},
            FedAvgM{share() + 0.1, share() * 0.99},
            FedAdam{share() + 0.1, share() * 0.99, share() * 0.99, share() + 1e-9, share() < 0.5}};
        result.aggregation = aggregations[below(8)];
        const std::vector<ClientSelection> selections{
            SelectAll{}, SelectRandom{share(), 1 + below(result.num_clients), random_()},
            SelectRoundRobin{1 + below(result.num_clients)}};
        const bool krum = std::holds_alternative<Krum>(result.aggregation) ||
                          std::holds_alternative<MultiKrum>(result.aggregation);
        result.client_selection = selections[krum ? 0 : below(3)];
        return result;
    }

    PopulationBased population_based() {
        PopulationBased result{.population_size = 1 + below(50), .generations = 1 + below(9)};
        if (below(2) == 0) {
            result.exploit = Truncation{share() / 2};
        } else {
            result.exploit = BinaryTournament{};
        }
        const std::vector<double> factors{share() + 0.1, 1 + share()};
        const std::vector<ExploreStrategy> explores{Perturb{factors}, Resample{share()},
                                                    PerturbOrResample{factors, share()}};
        result.explore = explores[below(3)];
        result.hyperparameters = {{"learning_rate", 1e-5 * (1 + share()), share() + 1e-3, true}};
        if (below(2) == 0) result.hyperparameters.push_back({"momentum", 0, share() * 0.9, false});
        return result;
    }

    std::mt19937_64 random_;
};

}  // namespace rondo::training::test
