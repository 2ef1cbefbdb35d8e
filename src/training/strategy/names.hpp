// The stable names of variants and enumerations, in JSON and in messages: one table.
#pragma once

#include <array>
#include <string_view>

namespace rondo::training::names {

/// In the order of the variant's or enumeration's members.
inline constexpr std::array<std::string_view, 6> strategies{
    "local", "data_parallel", "model_parallel", "federated", "population_based", "custom"};
inline constexpr std::array<std::string_view, 3> aggregations{"mean", "sum", "weighted_mean"};
inline constexpr std::array<std::string_view, 3> protocols{"peer_to_peer", "through_host",
                                                           "collective"};
inline constexpr std::array<std::string_view, 2> pipelines{"gpipe", "1f1b"};
inline constexpr std::array<std::string_view, 8> federated_aggregations{
    "fed_avg", "fed_prox",   "fed_median", "fed_trimmed_avg",
    "krum",    "multi_krum", "fed_avg_m",  "fed_adam"};
inline constexpr std::array<std::string_view, 3> selections{"all", "random", "round_robin"};
inline constexpr std::array<std::string_view, 2> exploits{"truncation", "binary_tournament"};
inline constexpr std::array<std::string_view, 3> explores{"perturb", "resample",
                                                          "perturb_or_resample"};
inline constexpr std::array<std::string_view, 3> hyperparameters{"learning_rate", "momentum",
                                                                 "weight_decay"};

}  // namespace rondo::training::names
