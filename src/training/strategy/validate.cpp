// Checks every number of a strategy, and says which one is wrong and what it may be.
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "rondo/training/strategy.hpp"
#include "training/strategy/json_fields.hpp"
#include "training/strategy/names.hpp"

namespace rondo::training {
namespace {

/// More workers, clients or members than this are a mistake, not a machine.
constexpr std::uint32_t count_limit = 1 << 20;

void require_count(std::uint64_t value, std::uint64_t least, const char* path) {
    if (value < least || value > count_limit) {
        throw InvalidArgument(
            fmt::format("{} is {}; it must be {} to {}", path, value, least, count_limit));
    }
}

/// `range` says in words what `inside` checks. What is no number is never inside.
void require_number(double value, bool inside, const std::string& path, const char* range) {
    if (!inside || !std::isfinite(value)) {
        throw InvalidArgument(fmt::format("{} is {}; it must be {}", path, value, range));
    }
}

void require_share(double value, const std::string& path) {
    require_number(value, value >= 0 && value <= 1, path, "0 to 1");
}

std::uint32_t clients_per_round(const Federated& strategy) {
    if (const auto* random = std::get_if<SelectRandom>(&strategy.client_selection)) {
        return std::max(static_cast<std::uint32_t>(random->fraction * strategy.num_clients),
                        random->minimum);
    }
    const auto* const turns = std::get_if<SelectRoundRobin>(&strategy.client_selection);
    return turns != nullptr ? turns->clients_per_round : strategy.num_clients;
}

/// `clients` is how many take part in a round.
struct CheckAggregation {
    std::uint32_t clients;
    void operator()(const FedAvg&) const {}
    void operator()(const FedProx& a) const {
        require_number(a.mu, a.mu >= 0, "/aggregation/mu", "0 or more");
    }
    void operator()(const FedMedian&) const {}
    void operator()(const FedTrimmedAvg& a) const {
        require_number(a.beta, a.beta >= 0 && a.beta < 0.5, "/aggregation/beta",
                       "0 to below 0.5, so that something is left between the tails");
    }
    void operator()(const Krum& a) const { check_byzantine(a.byzantine, "krum"); }
    void operator()(const MultiKrum& a) const {
        check_byzantine(a.byzantine, "multi_krum");
        if (a.keep > clients) {
            throw InvalidArgument(fmt::format(
                "/aggregation/keep is {}; only {} clients take part in a round", a.keep, clients));
        }
    }
    void operator()(const FedAvgM& a) const {
        require_number(a.server_learning_rate, a.server_learning_rate > 0,
                       "/aggregation/server_learning_rate", "above 0");
        require_number(a.server_momentum, a.server_momentum >= 0 && a.server_momentum < 1,
                       "/aggregation/server_momentum", "0 to below 1");
    }
    void operator()(const FedAdam& a) const {
        require_number(a.eta, a.eta > 0, "/aggregation/eta", "above 0");
        require_number(a.beta1, a.beta1 >= 0 && a.beta1 < 1, "/aggregation/beta1", "0 to below 1");
        require_number(a.beta2, a.beta2 >= 0 && a.beta2 < 1, "/aggregation/beta2", "0 to below 1");
        require_number(a.tau, a.tau > 0, "/aggregation/tau", "above 0");
    }

private:
    void check_byzantine(std::uint32_t byzantine, const char* name) const {
        const std::uint64_t needed = std::uint64_t{2} * byzantine + 3;
        if (clients < needed) {
            throw InvalidArgument(
                fmt::format("/aggregation/byzantine is {}; {} against {} lying clients needs at "
                            "least 2 * {} + 3 = {} clients in a round, there are {}",
                            byzantine, name, byzantine, byzantine, needed, clients));
        }
    }
};

struct CheckSelection {
    std::uint32_t clients;
    void operator()(const SelectAll&) const {}
    void operator()(const SelectRandom& s) const {
        require_share(s.fraction, "/client_selection/fraction");
        check_number(s.minimum, "/client_selection/minimum");
    }
    void operator()(const SelectRoundRobin& s) const {
        check_number(s.clients_per_round, "/client_selection/clients_per_round");
    }

private:
    void check_number(std::uint32_t value, const char* path) const {
        if (value == 0 || value > clients) {
            throw InvalidArgument(fmt::format("{} is {}; it must be 1 to the number of clients, {}",
                                              path, value, clients));
        }
    }
};

void check_factors(const std::vector<double>& factors) {
    if (factors.empty()) throw InvalidArgument("/explore/factors must not be empty");
    for (std::size_t i = 0; i < factors.size(); ++i) {
        require_number(factors[i], factors[i] > 0, fmt::format("/explore/factors/{}", i),
                       "above 0");
    }
}

struct CheckEvolution {
    void operator()(const Truncation& e) const {
        require_number(e.fraction, e.fraction >= 0 && e.fraction <= 0.5, "/exploit/fraction",
                       "0 to 0.5, so that nobody is among the best and the worst");
    }
    void operator()(const BinaryTournament&) const {}
    void operator()(const Perturb& e) const { check_factors(e.factors); }
    void operator()(const Resample& e) const {
        require_share(e.probability, "/explore/probability");
    }
    void operator()(const PerturbOrResample& e) const {
        check_factors(e.factors);
        require_share(e.probability, "/explore/probability");
    }
};

void check_hyperparameter(const Hyperparameter& setting, const std::string& path) {
    if (std::ranges::find(names::hyperparameters, setting.name) == names::hyperparameters.end()) {
        throw InvalidArgument(
            fmt::format("{}/name is '{}'; it must be learning_rate, momentum or "
                        "weight_decay",
                        path, setting.name));
    }
    require_number(setting.low, setting.low >= 0, path + "/low", "0 or more");
    require_number(setting.high, setting.high >= setting.low, path + "/high", "low or more");
    if (setting.logarithmic) {
        require_number(setting.low, setting.low > 0, path + "/low",
                       "above 0 for a logarithmic range");
    }
    if (setting.name == "momentum") {
        require_number(setting.high, setting.high < 1, path + "/high", "below 1 for momentum");
    }
}

struct CheckStrategy {
    void operator()(const Local&) const {}
    void operator()(const DataParallel& s) const {
        require_count(s.num_replicas, 1, "/num_replicas");
    }
    void operator()(const ModelParallel& s) const {
        require_count(s.micro_batches, 1, "/micro_batches");
        if (s.partitions.empty()) throw InvalidArgument("/partitions must not be empty");
        std::set<std::string> seen;
        for (std::size_t p = 0; p < s.partitions.size(); ++p) {
            const Partition& partition = s.partitions[p];
            if (partition.worker >= count_limit) {
                throw InvalidArgument(
                    fmt::format("/partitions/{}/worker is {}; it must be below {}", p,
                                partition.worker, count_limit));
            }
            for (const std::string& node : partition.nodes) {
                if (!seen.insert(node).second) {
                    throw InvalidArgument(
                        fmt::format("/partitions/{}: node '{}' is in two partitions", p, node));
                }
            }
        }
    }
    void operator()(const Federated& s) const {
        require_count(s.num_clients, 1, "/num_clients");
        require_count(s.rounds, 1, "/rounds");
        std::visit(CheckSelection{s.num_clients}, s.client_selection);
        std::visit(CheckAggregation{clients_per_round(s)}, s.aggregation);
    }
    void operator()(const PopulationBased& s) const {
        require_count(s.population_size, 1, "/population_size");
        require_count(s.generations, 1, "/generations");
        std::visit(CheckEvolution{}, s.exploit);
        std::visit(CheckEvolution{}, s.explore);
        if (s.hyperparameters.empty()) {
            throw InvalidArgument("/hyperparameters must not be empty");
        }
        std::set<std::string> seen;
        for (std::size_t i = 0; i < s.hyperparameters.size(); ++i) {
            const std::string path = fmt::format("/hyperparameters/{}", i);
            check_hyperparameter(s.hyperparameters[i], path);
            if (!seen.insert(s.hyperparameters[i].name).second) {
                throw InvalidArgument(fmt::format("{}/name is '{}', which was there before", path,
                                                  s.hyperparameters[i].name));
            }
        }
    }
    void operator()(const Custom& s) const {
        if (s.coordinator.empty()) throw InvalidArgument("/coordinator must not be empty");
        parse_bounded_json(s.config);
    }
};

}  // namespace

void validate(const TrainingStrategy& strategy) {
    std::visit(CheckStrategy{}, strategy.value());
}

}  // namespace rondo::training
