// See the header.
#include "training/federated/aggregate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "rondo/training/data_parallel_trainer.hpp"

namespace rondo::training {
namespace {

/// Calls use(coordinate, sorted values) for every coordinate. What is no number comes last.
template <class Use>
void for_each_sorted(std::span<const ClientUpdate> updates, Use use) {
    std::vector<float> column(updates.size());
    for (std::size_t i = 0; i < updates[0].parameters.size(); ++i) {
        for (std::size_t u = 0; u < updates.size(); ++u) {
            const float value = updates[u].parameters[i];
            column[u] = std::isnan(value) ? std::numeric_limits<float>::infinity() : value;
        }
        std::ranges::sort(column);
        use(i, std::span<const float>(column));
    }
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += difference * difference;
    }
    return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

void require_updates(std::size_t updates, std::uint32_t byzantine) {
    const std::uint64_t needed = std::uint64_t{2} * byzantine + 3;
    if (updates < needed) {
        throw InvalidArgument(
            fmt::format("krum against {} lying clients needs at least 2 * {} + 3 = {} updates, "
                        "there are {}",
                        byzantine, byzantine, needed, updates));
    }
}

/// The updates with the best scores; of equal ones the first.
std::vector<ClientUpdate> best_by_krum(std::span<const ClientUpdate> updates,
                                       std::uint32_t byzantine, std::size_t keep) {
    const std::vector<double> scores = krum_scores(updates, byzantine);
    std::vector<std::size_t> order(updates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::less<>(), [&](std::size_t u) { return scores[u]; });
    order.resize(std::clamp<std::size_t>(keep, 1, updates.size()));
    std::ranges::sort(order);
    std::vector<ClientUpdate> best;
    for (const std::size_t u : order) best.push_back(updates[u]);
    return best;
}

struct ApplyAggregation {
    ServerAggregator& server;
    std::span<const float> global;
    std::span<const ClientUpdate> updates;
    std::uint64_t round;

    std::vector<float> operator()(const FedAvg&) const { return average_by_samples(updates); }
    std::vector<float> operator()(const FedProx&) const { return average_by_samples(updates); }
    std::vector<float> operator()(const FedMedian&) const { return coordinate_median(updates); }
    std::vector<float> operator()(const FedTrimmedAvg& a) const {
        return trimmed_mean(updates, a.beta);
    }
    std::vector<float> operator()(const Krum& a) const {
        require_updates(updates.size(), a.byzantine);
        return best_by_krum(updates, a.byzantine, 1)[0].parameters;
    }
    std::vector<float> operator()(const MultiKrum& a) const {
        require_updates(updates.size(), a.byzantine);
        const std::size_t keep = a.keep == 0 ? updates.size() - a.byzantine : a.keep;
        return average_by_samples(best_by_krum(updates, a.byzantine, keep));
    }
    std::vector<float> operator()(const FedAvgM& a) const {
        std::vector<float> next = average_by_samples(updates);
        server.first.resize(next.size());
        for (std::size_t i = 0; i < next.size(); ++i) {
            const double step = static_cast<double>(global[i]) - next[i];
            server.first[i] = static_cast<float>(a.server_momentum * server.first[i] + step);
            next[i] = static_cast<float>(global[i] - a.server_learning_rate * server.first[i]);
        }
        return next;
    }
    std::vector<float> operator()(const FedAdam& a) const {
        std::vector<float> next = average_by_samples(updates);
        const double eta = a.bias_correction ? corrected_eta(a) : a.eta;
        server.first.resize(next.size());
        server.second.resize(next.size());
        for (std::size_t i = 0; i < next.size(); ++i) {
            const double step = static_cast<double>(next[i]) - global[i];
            const double mean = a.beta1 * server.first[i] + (1 - a.beta1) * step;
            const double square = a.beta2 * server.second[i] + (1 - a.beta2) * step * step;
            server.first[i] = static_cast<float>(mean);
            server.second[i] = static_cast<float>(square);
            next[i] = static_cast<float>(global[i] + eta * mean / (std::sqrt(square) + a.tau));
        }
        return next;
    }
    double corrected_eta(const FedAdam& a) const {
        const double exponent = static_cast<double>(round) + 2;
        return a.eta * std::sqrt(1 - std::pow(a.beta2, exponent)) /
               (1 - std::pow(a.beta1, exponent));
    }
};

}  // namespace

std::vector<float> average_by_samples(std::span<const ClientUpdate> updates) {
    std::vector<WorkerUpdate> inputs;
    for (const ClientUpdate& update : updates) {
        inputs.push_back({.gradients = update.parameters, .samples_processed = update.samples});
    }
    return DataParallelTrainer().merge_worker_updates(inputs).gradients;
}

std::vector<float> coordinate_median(std::span<const ClientUpdate> updates) {
    std::vector<float> result(updates[0].parameters.size());
    for_each_sorted(updates, [&](std::size_t i, std::span<const float> sorted) {
        const std::size_t middle = sorted.size() / 2;
        result[i] = sorted.size() % 2 == 1
                        ? sorted[middle]
                        : static_cast<float>((static_cast<double>(sorted[middle - 1]) +
                                              static_cast<double>(sorted[middle])) /
                                             2);
    });
    return result;
}

std::vector<float> trimmed_mean(std::span<const ClientUpdate> updates, double beta) {
    const auto cut = static_cast<std::size_t>(beta * static_cast<double>(updates.size()));
    std::vector<float> result(updates[0].parameters.size());
    for_each_sorted(updates, [&](std::size_t i, std::span<const float> sorted) {
        double sum = 0;
        for (const float value : sorted.subspan(cut, sorted.size() - 2 * cut)) sum += value;
        result[i] = static_cast<float>(sum / static_cast<double>(sorted.size() - 2 * cut));
    });
    return result;
}

std::vector<double> krum_scores(std::span<const ClientUpdate> updates, std::uint32_t byzantine) {
    const std::size_t n = updates.size();
    std::vector<std::vector<double>> distances(n);
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            const double distance = squared_distance(updates[a].parameters, updates[b].parameters);
            distances[a].push_back(distance);
            distances[b].push_back(distance);
        }
    }
    const std::size_t nearest = n > byzantine + std::size_t{3} ? n - byzantine - 2 : 1;
    std::vector<double> scores;
    for (std::vector<double>& own : distances) {
        std::ranges::sort(own);
        own.resize(std::min(own.size(), nearest));
        scores.push_back(std::accumulate(own.begin(), own.end(), 0.0));
    }
    return scores;
}

std::vector<float> ServerAggregator::aggregate(std::span<const float> global,
                                               std::span<const ClientUpdate> updates,
                                               std::uint64_t round) {
    return std::visit(ApplyAggregation{*this, global, updates, round}, aggregation_);
}

}  // namespace rondo::training
