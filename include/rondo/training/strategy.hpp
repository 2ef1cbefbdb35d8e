// How a graph is trained, as a value: compared, printed, written to JSON and read back.
//
//     TrainingStrategy strategy = DataParallel{.num_replicas = 4};
//     std::string text = to_json(strategy);        // {"strategy": "data_parallel", ...}
//     TrainingStrategy same = training_strategy_from_json(text);
//     if (const auto* federated = strategy.get_if<Federated>()) ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo::training {

// ---- Local -------------------------------------------------------------------------------------

/// All nodes run on one device.
struct Local {
    bool operator==(const Local&) const = default;
};

// ---- DataParallel ------------------------------------------------------------------------------

enum class GradientAggregation : std::uint8_t {
    mean,          ///< of the replicas' means, whatever the size of their sub-batches
    sum,           ///< of the replicas' means
    weighted_mean  ///< by samples: the gradient that one worker would have of the whole batch
};

/// The whole graph on N workers; each sees a share of every batch, and gradients are aggregated
/// after each step.
struct DataParallel {
    std::uint32_t num_replicas = 1;
    GradientAggregation aggregation = GradientAggregation::weighted_mean;

    bool operator==(const DataParallel&) const = default;
};

// ---- ModelParallel -----------------------------------------------------------------------------

/// A set of nodes on one worker. Nodes of a graph form a chain or any other graph without cycles,
/// and a worker's nodes need not be neighbours.
struct Partition {
    std::vector<std::string> nodes = {};
    std::uint32_t worker = 0;

    bool operator==(const Partition&) const = default;
};

/// How activations and their gradients travel.
enum class CommunicationProtocol : std::uint8_t {
    peer_to_peer,  ///< send and receive between the two devices
    through_host,  ///< copied to host memory and from there
    collective     ///< broadcast to all workers; those who don't need it throw it away
};

enum class PipelineKind : std::uint8_t {
    gpipe,                    ///< all forwards, then all backwards
    one_forward_one_backward  ///< 1F1B: a backward as soon as there is one; keeps less activations
};

/// Each partition maps nodes to a worker; batches are cut into micro-batches that follow each other
/// through the workers.
struct ModelParallel {
    std::vector<Partition> partitions = {};
    CommunicationProtocol communication = CommunicationProtocol::peer_to_peer;
    std::uint32_t micro_batches = 1;
    PipelineKind pipeline = PipelineKind::one_forward_one_backward;

    bool operator==(const ModelParallel&) const = default;
};

// ---- Federated ---------------------------------------------------------------------------------

/// Weights by number of samples.
struct FedAvg {
    bool operator==(const FedAvg&) const = default;
};
/// FedAvg at the coordinator; clients add mu / 2 * |w - w_global|^2 to their loss.
struct FedProx {
    double mu = 0.01;
    bool operator==(const FedProx&) const = default;
};
/// The median of every coordinate. Survives fewer than half of the clients lying.
struct FedMedian {
    bool operator==(const FedMedian&) const = default;
};
/// Per coordinate, int(beta * n) values are cut off at each end and the rest is averaged. Survives
/// int(beta * n) lying clients.
struct FedTrimmedAvg {
    double beta = 0.2;
    bool operator==(const FedTrimmedAvg&) const = default;
};
/// The update that is nearest to its n - byzantine - 2 neighbours. Survives `byzantine` lying
/// clients, if 2 * byzantine + 2 < n.
struct Krum {
    std::uint32_t byzantine = 0;
    bool operator==(const Krum&) const = default;
};
/// FedAvg of the `keep` best updates by Krum's score; keep = 0: n - byzantine.
struct MultiKrum {
    std::uint32_t byzantine = 0;
    std::uint32_t keep = 0;
    bool operator==(const MultiKrum&) const = default;
};
/// A server optimiser with momentum on the average update.
struct FedAvgM {
    double server_learning_rate = 1.0;
    double server_momentum = 0.9;
    bool operator==(const FedAvgM&) const = default;
};
/// A server optimiser like Adam on the average update.
struct FedAdam {
    double eta = 0.1;
    double beta1 = 0.9;
    double beta2 = 0.99;
    double tau = 1e-3;
    /// eta becomes eta * sqrt(1 - beta2^(t + 1)) / (1 - beta1^(t + 1)) in round t = 1, 2, ..., as
    /// Flower does; false: eta stays, as in the paper.
    bool bias_correction = true;
    bool operator==(const FedAdam&) const = default;
};
using FederatedAggregation =
    std::variant<FedAvg, FedProx, FedMedian, FedTrimmedAvg, Krum, MultiKrum, FedAvgM, FedAdam>;

struct SelectAll {
    bool operator==(const SelectAll&) const = default;
};
/// max(int(clients * fraction), minimum) clients, drawn anew each round from the seed.
struct SelectRandom {
    double fraction = 1.0;
    std::uint32_t minimum = 1;
    std::uint64_t seed = 0;
    bool operator==(const SelectRandom&) const = default;
};
/// `clients_per_round` clients after those of the round before.
struct SelectRoundRobin {
    std::uint32_t clients_per_round = 1;
    bool operator==(const SelectRoundRobin&) const = default;
};
using ClientSelection = std::variant<SelectAll, SelectRandom, SelectRoundRobin>;

/// Data stays with the clients; only models travel. The coordinator aggregates after each round.
struct Federated {
    std::uint32_t num_clients = 2;
    std::uint32_t rounds = 1;
    FederatedAggregation aggregation = FedAvg{};
    ClientSelection client_selection = SelectAll{};

    bool operator==(const Federated&) const = default;
};

// ---- PopulationBased ---------------------------------------------------------------------------

/// The worst `fraction` of the population copy from the best `fraction`.
struct Truncation {
    double fraction = 0.25;
    bool operator==(const Truncation&) const = default;
};
/// Every member meets another by chance and copies it if that one is better.
struct BinaryTournament {
    bool operator==(const BinaryTournament&) const = default;
};
using ExploitStrategy = std::variant<Truncation, BinaryTournament>;

/// A copied setting is multiplied by one of the factors, by chance.
struct Perturb {
    std::vector<double> factors = {0.8, 1.2};
    bool operator==(const Perturb&) const = default;
};
/// A copied setting is drawn anew with this probability, otherwise it stays.
struct Resample {
    double probability = 0.25;
    bool operator==(const Resample&) const = default;
};
/// Drawn anew with the probability, otherwise multiplied by a factor.
struct PerturbOrResample {
    std::vector<double> factors = {0.8, 1.2};
    double probability = 0.25;
    bool operator==(const PerturbOrResample&) const = default;
};
using ExploreStrategy = std::variant<Perturb, Resample, PerturbOrResample>;

/// A setting that the population searches. Drawn from [low, high], evenly or evenly in its
/// logarithm; what is multiplied stays in that range.
struct Hyperparameter {
    std::string name = "learning_rate";  ///< or momentum, weight_decay
    double low = 1e-4;
    double high = 1e-1;
    bool logarithmic = true;
    bool operator==(const Hyperparameter&) const = default;
};

/// Each generation trains a population, evaluates it, lets the bad copy from the good and changes
/// the copied settings.
struct PopulationBased {
    std::uint32_t population_size = 4;
    std::uint32_t generations = 1;
    ExploitStrategy exploit = Truncation{};
    ExploreStrategy explore = PerturbOrResample{};
    std::vector<Hyperparameter> hyperparameters = {Hyperparameter{}};

    bool operator==(const PopulationBased&) const = default;
};

// ---- Custom ------------------------------------------------------------------------------------

/// A coordinator that was registered under a name, with a configuration that only it understands.
struct Custom {
    std::string coordinator = {};
    std::string config = "{}";  ///< any JSON value, as text

    bool operator==(const Custom&) const = default;
};

// ---- all of them -------------------------------------------------------------------------------

/// One of the above; Local unless something else is said. The set is open: newer versions may have
/// more, so treat what you don't know as an error, not as impossible.
class RONDO_API TrainingStrategy {
public:
    using Variant =
        std::variant<Local, DataParallel, ModelParallel, Federated, PopulationBased, Custom>;

    TrainingStrategy() = default;
    template <class Kind>
    requires std::is_constructible_v<Variant, Kind> TrainingStrategy(Kind kind)
        : value_(std::move(kind)) {}

    const Variant& value() const { return value_; }
    template <class Kind>
    const Kind* get_if() const {
        return std::get_if<Kind>(&value_);
    }

    bool operator==(const TrainingStrategy&) const = default;

private:
    Variant value_;
};

/// Checks everything that can be checked without a graph: every number, and that no node is in two
/// partitions. Throws InvalidArgument that names the path and the value:
/// "/aggregation/beta is 0.5; it must be 0 to below 0.5".
RONDO_API void validate(const TrainingStrategy& strategy);

/// The name in JSON: "local", "data_parallel", "model_parallel", "federated", "population_based",
/// "custom".
RONDO_API std::string_view kind_name(const TrainingStrategy& strategy);
/// For people, in one line: "data_parallel(4 replicas, weighted_mean)".
RONDO_API std::string to_string(const TrainingStrategy& strategy);

/// One JSON object; docs/training.md has the fields. Every field is written.
RONDO_API std::string to_json(const TrainingStrategy& strategy);
/// The inverse. Fields that have a default may be left out; unknown fields and variants are
/// refused. The result is valid. Throws InvalidArgument that names the path.
RONDO_API TrainingStrategy training_strategy_from_json(std::string_view text);

RONDO_API std::string_view to_string(GradientAggregation aggregation);
RONDO_API std::string_view to_string(CommunicationProtocol protocol);
RONDO_API std::string_view to_string(PipelineKind kind);

}  // namespace rondo::training
