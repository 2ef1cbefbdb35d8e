// Trains a graph or a model by a strategy.
//
//     Graph graph = dense_network(std::vector<std::uint32_t>{64, 32}, 10);
//     graph.set_strategy(DataParallel{.num_replicas = 4});
//     TrainingReport report = train(graph, data, {.epochs = 20, .batch_size = 64});
//     report.parameters;                // what was learned
//
// Deterministic: the same seed, data, strategy and options give the same bits on the same machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"
#include "rondo/training/communicator_sync.hpp"
#include "rondo/training/data.hpp"
#include "rondo/training/evolution.hpp"
#include "rondo/training/graph.hpp"
#include "rondo/training/model.hpp"
#include "rondo/training/optimizer.hpp"
#include "rondo/training/strategy.hpp"
#include "rondo/training/timeline.hpp"

namespace rondo::training {

class CoordinatorRegistry;

/// A worker, client or member failed and the run ended. The text names it and its device.
class RONDO_API WorkerError : public Error {
public:
    WorkerError(std::size_t worker, const std::string& text) : Error(text), worker_(worker) {}
    std::size_t worker() const { return worker_; }

private:
    std::size_t worker_;
};

/// Where a run is.
struct Progress {
    std::uint64_t round = 0;   ///< epochs, rounds or generations that are complete
    std::uint64_t rounds = 0;  ///< of them in all
    std::uint64_t step = 0;    ///< steps since the start
    double loss = 0;           ///< mean over the samples of the round
    std::optional<Evaluation> validation = {};
};

/// What a client sends to the coordinator. For attacks and noise in experiments: may change the
/// update, and may throw, which is a failed client. Called by one thread, in the order of clients.
using UpdateHook =
    std::function<void(std::uint64_t round, std::size_t client, std::span<float> parameters)>;

struct FederatedOptions {
    std::uint32_t local_epochs = 1;
    /// Stop a client's work after so many steps of a round; 0: don't.
    std::uint32_t local_steps = 0;
    /// How samples are dealt out: sample i belongs to client owner(i). Empty: in equal numbers, by
    /// chance from the seed; in turn without TrainingOptions::shuffle.
    std::function<std::size_t(std::size_t sample)> owner = {};
    UpdateHook on_update = {};
};

struct PopulationOptions {
    std::uint32_t epochs_per_generation = 1;
    /// Stop a member's generation after so many steps; 0: don't.
    std::uint32_t steps_per_generation = 0;
    /// The first member's settings and so on, one number per hyperparameter; the rest is drawn.
    std::vector<std::vector<double>> initial = {};
};

struct TrainingOptions {
    std::uint32_t epochs = 1;     ///< Local, DataParallel, ModelParallel
    std::size_t batch_size = 32;  ///< of all replicas together; of a client or a member alone
    OptimizerSettings optimizer = Sgd{};
    std::uint64_t seed = 0;
    bool shuffle = true;            ///< a new order for every epoch
    std::vector<int> devices = {};  ///< empty: all
    const DataSource* validation = nullptr;
    /// Every batch is cut into so many parts whose gradients are added up before they are sent.
    /// Model-parallel graphs say it in their strategy.
    std::uint32_t accumulation = 1;
    BucketOptions buckets = {};

    /// Called after every epoch, round or generation, by any thread, one at a time; false ends the
    /// run. What it throws comes out of train().
    std::function<bool(const Progress&)> on_progress = {};
    /// Draws a bar on standard error, if that is a terminal.
    bool progress_bar = false;
    /// End when the validation loss has not become better for so many rounds; 0: never.
    std::uint32_t patience = 0;

    std::string checkpoint = {};         ///< a file, written after rounds; empty: none
    std::uint32_t checkpoint_every = 1;  ///< rounds
    std::string resume = {};             ///< a checkpoint of the same run to go on from

    /// Every wait for another worker ends after that long with an error that names it.
    std::chrono::nanoseconds timeout = std::chrono::minutes(5);
    Timeline* timeline = nullptr;
    FederatedOptions federated = {};
    PopulationOptions population = {};
    const CoordinatorRegistry* coordinators = nullptr;  ///< for Custom
};

/// A line of a diagram: of a worker, a client, a member, or "validation".
struct CurvePoint {
    double round = 0;
    double loss = 0;
    std::optional<double> accuracy = {};

    bool operator==(const CurvePoint&) const = default;
};
struct Curve {
    std::string name = {};
    std::vector<CurvePoint> points = {};

    bool operator==(const Curve&) const = default;
};

/// A client that was selected and sent nothing useful.
struct ClientFailure {
    std::uint64_t round = 0;
    std::size_t client = 0;
    std::string reason = {};
};

struct TrainingReport {
    TrainingStrategy strategy = {};
    std::vector<ParameterInfo> parameter_infos = {};
    std::vector<float> parameters = {};  ///< of the best member, for PopulationBased
    std::uint64_t rounds = 0;            ///< epochs, rounds or generations
    std::uint64_t steps = 0;
    double seconds = 0;
    std::string ended_because = {};  ///< "all rounds are done", "patience", "on_progress"
    std::optional<Evaluation> validation = {};  ///< of the parameters above
    std::vector<Curve> curves = {};
    std::vector<ClientFailure> client_failures = {};
    std::vector<std::string> notes = {};  ///< "round 3 was skipped: ..."
    std::optional<EvolutionLog> evolution = {};
    std::string timetable = {};  ///< of a pipeline, for people
    double bubble = 0;           ///< of a pipeline, by its timetable: idle time in relation to work
    double measured_bubble = 0;  ///< the same by the clock of the devices, over all steps
};

/// By the graph's own strategies. Throws InvalidArgument for options, data or strategies that don't
/// fit together, Unsupported for a nesting of strategies that nobody can run, WorkerError when a
/// worker fails, CheckpointError when the file to resume from is damaged or of another run.
RONDO_API TrainingReport train(const Graph& graph, const DataSource& data,
                               const TrainingOptions& options = {});
/// By this strategy; subgraphs keep theirs.
RONDO_API TrainingReport train(const Graph& graph, const TrainingStrategy& strategy,
                               const DataSource& data, const TrainingOptions& options = {});
/// A model of your own. It can't be cut, so ModelParallel is Unsupported.
RONDO_API TrainingReport train(const Model& model, const TrainingStrategy& strategy,
                               const DataSource& data, const TrainingOptions& options = {});

/// Loss and accuracy of parameters, on one device.
RONDO_API Evaluation evaluate(const Graph& graph, std::span<const float> parameters,
                              const DataSource& data, int device = 0);
RONDO_API Evaluation evaluate(const Model& model, std::span<const float> parameters,
                              const DataSource& data, int device = 0);

/// A start as train() makes it.
RONDO_API std::vector<float> initial_parameters(const Graph& graph, const DataSource& data,
                                                std::uint64_t seed);

}  // namespace rondo::training
