// Federated training: clients learn on their own samples, the coordinator sees models only.
#include <fmt/format.h>

#include "training/engine/coordinators.hpp"
#include "training/engine/device_team.hpp"
#include "training/engine/rounds.hpp"
#include "training/federated/aggregate.hpp"
#include "training/federated/selection.hpp"

namespace rondo::training {
namespace {

class FederatedTraining {
public:
    FederatedTraining(const TrainingJob& job, const std::vector<bool>& personal)
        : job_(job),
          strategy_(*job.strategy.get_if<Federated>()),
          infos_(job.model.parameters()),
          keeper_(job, strategy_.rounds),
          aggregator_(strategy_.aggregation),
          shards_(strategy_.num_clients),
          team_(job, strategy_.num_clients) {
        for (std::size_t p = 0; p < infos_.size(); ++p) {
            is_personal_.insert(is_personal_.end(), infos_[p].size, personal[p]);
        }
        has_personal_ = std::ranges::find(is_personal_, true) != is_personal_.end();
        deal_samples();
        if (job.options.validation != nullptr) {
            evaluator_.emplace(job.model, *job.options.validation, job.devices[0]);
        }
        begin();
    }

    TrainingReport run() {
        while (keeper_.running()) run_round();
        TrainingReport report{.strategy = job_.strategy,
                              .parameter_infos = infos_,
                              .parameters = global_,
                              .client_failures = std::move(failures_),
                              .notes = std::move(notes_)};
        if (evaluator_) report.validation = evaluator_->evaluate(global_);
        keeper_.complete(report);
        return report;
    }

private:
    /// What came back from a client.
    struct Reply {
        std::optional<ClientUpdate> update;
        double loss = 0;
        double accuracy = 0;
        std::uint64_t steps = 0;
        std::string failure;
    };

    /// By chance, unless told otherwise: sorted data dealt in turn may give a client one class
    /// only.
    void deal_samples() {
        const std::vector<std::size_t> turns =
            job_.options.shuffle ? permutation(job_.data.size(), Random(job_.options.seed, 0xdea1))
                                 : epoch_order(job_.data.size(), false, 0, 0);
        for (std::size_t i = 0; i < job_.data.size(); ++i) {
            const std::size_t client = job_.options.federated.owner
                                           ? job_.options.federated.owner(i)
                                           : turns[i] % shards_.size();
            if (client >= shards_.size()) {
                throw InvalidArgument(fmt::format("sample {} belongs to client {}; there are {}", i,
                                                  client, shards_.size()));
            }
            shards_[client].push_back(i);
        }
    }

    void begin() {
        global_.resize(parameter_count(infos_));
        job_.model.initialize(global_, job_.options.seed);
        if (has_personal_) own_.assign(shards_.size(), global_);
        const std::optional<Checkpoint> checkpoint = keeper_.resume();
        if (!checkpoint) return;
        global_ = sized(checkpoint->array_at("parameters"));
        aggregator_.first = checkpoint->array_at("server first");
        aggregator_.second = checkpoint->array_at("server second");
        load_failures(*checkpoint);
        for (std::size_t c = 0; c < own_.size(); ++c) {
            own_[c] = sized(checkpoint->array_at(fmt::format("client {}", c)));
        }
    }

    std::vector<float> sized(const std::vector<float>& values) const {
        if (values.size() == parameter_count(infos_)) return values;
        throw CheckpointError(fmt::format("the checkpoint has {} parameters where {} are needed",
                                          values.size(), parameter_count(infos_)));
    }

    void run_round() {
        const std::vector<std::size_t> selected = select_clients(strategy_, keeper_.round());
        std::vector<Reply> replies(selected.size());
        team_.run(
            selected.size(), keeper_.round(),
            [&](std::size_t i) { return fmt::format("client {}", selected[i]); },
            [&](Trainee& trainee, std::size_t i) {
                replies[i] = ask_client(trainee, selected[i]);
            });
        std::vector<ClientUpdate> updates;
        double loss = 0, samples = 0;
        std::uint64_t steps = 0;
        for (std::size_t i = 0; i < selected.size(); ++i) {
            Reply& reply = replies[i];
            show(reply);
            if (!reply.update) {
                failures_.push_back({keeper_.round(), selected[i], reply.failure});
                continue;
            }
            keeper_.add_point(fmt::format("client {}", selected[i]), reply.loss,
                              job_.training_accuracy(reply.accuracy));
            loss += reply.loss * static_cast<double>(reply.update->samples);
            samples += static_cast<double>(reply.update->samples);
            steps += reply.steps;
            updates.push_back(std::move(*reply.update));
        }
        take(updates);
        std::optional<Evaluation> validation;
        if (evaluator_) validation = evaluator_->evaluate(global_);
        keeper_.finish_round(keeper_.steps() + steps, loss / std::max(samples, 1.0), validation);
        if (keeper_.wants_checkpoint()) save();
    }

    /// Everything that goes wrong with a client is the client's failure, not the run's.
    Reply ask_client(Trainee& trainee, std::size_t client) const {
        Reply reply;
        try {
            const std::vector<std::size_t>& shard = shards_[client];
            if (shard.empty()) throw InvalidArgument("the client has no samples");
            trainee.set_parameters(model_of(client));
            trainee.reset_optimizer(job_.options.optimizer);
            const std::uint64_t before = trainee.steps();
            const auto* const prox = std::get_if<FedProx>(&strategy_.aggregation);
            for (std::uint32_t e = 0; e < job_.options.federated.local_epochs; ++e) {
                const std::uint64_t pass =
                    keeper_.round() * job_.options.federated.local_epochs + e;
                reply.loss = trainee.train_epoch(
                    shard, Random(job_.options.seed, 0xc11e27 + pass, client),
                    job_.options.federated.local_steps, prox != nullptr ? prox->mu : 0);
            }
            reply.accuracy = trainee.accuracy();
            reply.steps = trainee.steps() - before;
            reply.update = ClientUpdate{client, trainee.parameters(), shard.size()};
        } catch (const std::exception& error) {
            reply.failure = error.what();
        }
        return reply;
    }

    /// Lets the caller see and change what a client sends. One thread does it, client by client.
    void show(Reply& reply) const {
        if (!reply.update || !job_.options.federated.on_update) return;
        try {
            job_.options.federated.on_update(keeper_.round(), reply.update->client,
                                             reply.update->parameters);
        } catch (const std::exception& error) {
            reply.update.reset();
            reply.failure = error.what();
        }
    }

    /// The global model, with what the client keeps to itself.
    std::vector<float> model_of(std::size_t client) const {
        std::vector<float> model = global_;
        for (std::size_t i = 0; has_personal_ && i < model.size(); ++i) {
            if (is_personal_[i]) model[i] = own_[client][i];
        }
        return model;
    }

    void take(std::vector<ClientUpdate>& updates) {
        if (updates.empty()) {
            notes_.push_back(fmt::format("round {}: no client sent an update", keeper_.round()));
            return;
        }
        for (ClientUpdate& update : updates) {
            if (has_personal_) own_[update.client] = update.parameters;
            for (std::size_t i = 0; has_personal_ && i < global_.size(); ++i) {
                if (is_personal_[i]) update.parameters[i] = global_[i];
            }
        }
        try {
            global_ = aggregator_.aggregate(global_, updates, keeper_.round());
        } catch (const InvalidArgument& error) {
            notes_.push_back(
                fmt::format("round {} was skipped: {}", keeper_.round(), error.what()));
        }
    }

    void save() const {
        Checkpoint checkpoint;
        checkpoint.arrays["parameters"] = global_;
        checkpoint.arrays["server first"] = aggregator_.first;
        checkpoint.arrays["server second"] = aggregator_.second;
        save_failures(checkpoint);
        for (std::size_t c = 0; c < own_.size(); ++c) {
            checkpoint.arrays[fmt::format("client {}", c)] = own_[c];
        }
        keeper_.save(std::move(checkpoint));
    }

    void save_failures(Checkpoint& checkpoint) const {
        checkpoint.counts["failures"] = failures_.size();
        for (std::size_t i = 0; i < failures_.size(); ++i) {
            checkpoint.counts[fmt::format("failure {}/round", i)] = failures_[i].round;
            checkpoint.counts[fmt::format("failure {}/client", i)] = failures_[i].client;
            checkpoint.text[fmt::format("failure {}", i)] = failures_[i].reason;
        }
        checkpoint.counts["notes"] = notes_.size();
        for (std::size_t i = 0; i < notes_.size(); ++i) {
            checkpoint.text[fmt::format("note {}", i)] = notes_[i];
        }
    }

    void load_failures(const Checkpoint& checkpoint) {
        for (std::size_t i = 0; i < checkpoint.count_at("failures"); ++i) {
            failures_.push_back({checkpoint.count_at(fmt::format("failure {}/round", i)),
                                 checkpoint.count_at(fmt::format("failure {}/client", i)),
                                 checkpoint.text_at(fmt::format("failure {}", i))});
        }
        for (std::size_t i = 0; i < checkpoint.count_at("notes"); ++i) {
            notes_.push_back(checkpoint.text_at(fmt::format("note {}", i)));
        }
    }

    const TrainingJob& job_;
    const Federated& strategy_;
    std::vector<ParameterInfo> infos_;
    RoundKeeper keeper_;
    ServerAggregator aggregator_;
    std::vector<std::vector<std::size_t>> shards_;
    DeviceTeam team_;
    std::vector<bool> is_personal_;  ///< by element
    bool has_personal_ = false;
    std::optional<Evaluator> evaluator_;
    std::vector<float> global_;
    std::vector<std::vector<float>> own_;  ///< by client, where something is personal
    std::vector<ClientFailure> failures_;
    std::vector<std::string> notes_;
};

}  // namespace

TrainingReport train_federated(const TrainingJob& job, const std::vector<bool>& personal) {
    return FederatedTraining(job, personal).run();
}

}  // namespace rondo::training
