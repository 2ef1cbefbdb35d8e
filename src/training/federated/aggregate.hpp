// How the coordinator makes one model of the clients' models. Pure functions on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rondo/training/strategy.hpp"

namespace rondo::training {

struct ClientUpdate {
    std::size_t client = 0;
    std::vector<float> parameters;
    std::uint64_t samples = 0;
};

// All take at least one update; all updates have the same length.

std::vector<float> average_by_samples(std::span<const ClientUpdate> updates);
/// What is no number counts as larger than all numbers.
std::vector<float> coordinate_median(std::span<const ClientUpdate> updates);
/// int(beta * n) values are cut off at each end.
std::vector<float> trimmed_mean(std::span<const ClientUpdate> updates, double beta);
/// The sum of squared distances to the max(1, n - byzantine - 2) nearest others, per update.
std::vector<double> krum_scores(std::span<const ClientUpdate> updates, std::uint32_t byzantine);

/// An aggregation with what it remembers between rounds.
class ServerAggregator {
public:
    explicit ServerAggregator(FederatedAggregation aggregation)
        : aggregation_(std::move(aggregation)) {}

    /// The next global model; rounds are counted from 0. Throws InvalidArgument when the
    /// aggregation's precondition does not hold for so many updates; then nothing is changed.
    std::vector<float> aggregate(std::span<const float> global,
                                 std::span<const ClientUpdate> updates, std::uint64_t round = 0);

    std::vector<float> first;   ///< momentum of FedAvgM and FedAdam
    std::vector<float> second;  ///< squares of FedAdam

private:
    FederatedAggregation aggregation_;
};

}  // namespace rondo::training
