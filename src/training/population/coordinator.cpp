// Population-based training: members learn side by side; after each generation the bad copy from
// the good.
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "training/engine/coordinators.hpp"
#include "training/engine/device_team.hpp"
#include "training/engine/rounds.hpp"
#include "training/population/evolve.hpp"
#include "training/population/member.hpp"

namespace rondo::training {
namespace {

class PopulationTraining {
public:
    explicit PopulationTraining(const TrainingJob& job)
        : job_(job),
          strategy_(*job.strategy.get_if<PopulationBased>()),
          keeper_(job, strategy_.generations),
          team_(job, strategy_.population_size),
          members_(strategy_.population_size),
          samples_(job.data.size()) {
        std::iota(samples_.begin(), samples_.end(), std::size_t{0});
        for (const Hyperparameter& hyperparameter : strategy_.hyperparameters) {
            log_.hyperparameters.push_back(hyperparameter.name);
        }
        begin();
    }

    TrainingReport run() {
        while (keeper_.running()) run_generation();
        TrainingReport report{.strategy = job_.strategy,
                              .parameter_infos = job_.model.parameters(),
                              .parameters = members_[log_.best].parameters,
                              .evolution = log_};
        if (job_.options.validation != nullptr) {
            report.validation = Evaluator(job_.model, *job_.options.validation, job_.devices[0])
                                    .evaluate(report.parameters);
        }
        keeper_.complete(report);
        return report;
    }

private:
    void begin() {
        const auto& initial = job_.options.population.initial;
        if (initial.size() > members_.size()) {
            throw InvalidArgument(fmt::format("{} initial settings were given for {} members",
                                              initial.size(), members_.size()));
        }
        for (std::size_t m = 0; m < members_.size(); ++m) {
            Member& member = members_[m];
            member.parameters.resize(parameter_count(job_.model.parameters()));
            // Every member starts from weights of its own.
            job_.model.initialize(member.parameters, Random(job_.options.seed, 0x3e3be2, m).next());
            Random random(job_.options.seed, 0x5e77, m);
            for (std::size_t h = 0; h < strategy_.hyperparameters.size(); ++h) {
                const double drawn = draw_setting(strategy_.hyperparameters[h], random);
                if (m < initial.size() && initial[m].size() != strategy_.hyperparameters.size()) {
                    throw InvalidArgument(fmt::format(
                        "the initial settings of member {} are {} numbers; there are {} "
                        "hyperparameters",
                        m, initial[m].size(), strategy_.hyperparameters.size()));
                }
                member.settings.push_back(m < initial.size() ? initial[m][h] : drawn);
            }
            member.optimizer = empty_state(member.parameters.size());
        }
        if (const std::optional<Checkpoint> checkpoint = keeper_.resume()) load(*checkpoint);
    }

    OptimizerState empty_state(std::size_t count) const {
        const bool adam = std::holds_alternative<Adam>(job_.options.optimizer);
        return {.steps = 0,
                .first = std::vector<float>(count),
                .second = std::vector<float>(adam ? count : 0)};
    }

    void run_generation() {
        const std::uint64_t number = keeper_.round();
        // Before a generation, not behind one: so a run that ended can go on with more of them.
        if (!log_.generations.empty()) evolve(number - 1, log_.generations.back());
        std::vector<MemberRecord> records(members_.size());
        std::vector<double> losses(members_.size());
        std::vector<std::uint64_t> steps(members_.size());
        const DataSource& judge =
            job_.options.validation != nullptr ? *job_.options.validation : job_.data;
        const auto name = [](std::size_t m) { return fmt::format("member {}", m); };
        team_.run(members_.size(), number, name, [&](Trainee& trainee, std::size_t m) {
            const std::uint64_t before = trainee.steps();
            losses[m] = live(trainee, members_[m],
                             {number, static_cast<std::uint32_t>(m), log_.hyperparameters, samples_,
                              &job_.options});
            steps[m] = trainee.steps() - before;
            const Evaluation result = trainee.evaluate(judge);
            records[m] = {.settings = members_[m].settings,
                          .score = std::isfinite(result.loss)
                                       ? result.loss
                                       : std::numeric_limits<double>::infinity(),
                          .accuracy = result.accuracy,
                          .parent = static_cast<std::uint32_t>(m)};
        });
        std::vector<double> scores;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            scores.push_back(records[m].score);
            keeper_.add_point(
                fmt::format("member {}", m), records[m].score,
                judge.class_count() > 0 ? std::optional(records[m].accuracy) : std::nullopt);
        }
        log_.best = static_cast<std::uint32_t>(std::ranges::min_element(scores) - scores.begin());
        const Evaluation best{scores[log_.best], records[log_.best].accuracy, judge.size()};
        std::optional<Evaluation> validation;
        if (job_.options.validation != nullptr) validation = best;
        keeper_.finish_round(
            keeper_.steps() + std::accumulate(steps.begin(), steps.end(), std::uint64_t{0}),
            losses[log_.best], validation);
        log_.generations.push_back(std::move(records));
        if (keeper_.wants_checkpoint()) save();
    }

    /// Says in the records of a generation whom each member of the next comes from.
    void evolve(std::uint64_t generation, std::vector<MemberRecord>& records) {
        std::vector<double> scores;
        for (const MemberRecord& record : records) scores.push_back(record.score);
        Random random(job_.options.seed, 0xe701, generation);
        const std::vector<std::uint32_t> parents = exploit(strategy_.exploit, scores, random);
        const std::vector<Member> before = members_;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            records[m].parent = parents[m];
            if (parents[m] == m) continue;
            members_[m] = before[parents[m]];
            members_[m].settings = explore(strategy_.explore, strategy_.hyperparameters,
                                           before[parents[m]].settings, random);
        }
    }

    void save() const {
        Checkpoint checkpoint;
        checkpoint.text["evolution"] = to_json(log_);
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const std::string prefix = fmt::format("member {}/", m);
            checkpoint.arrays[prefix + "parameters"] = members_[m].parameters;
            checkpoint.arrays[prefix + "first"] = members_[m].optimizer.first;
            checkpoint.arrays[prefix + "second"] = members_[m].optimizer.second;
            checkpoint.counts[prefix + "steps"] = members_[m].optimizer.steps;
            checkpoint.numbers[prefix + "settings"] = members_[m].settings;
        }
        keeper_.save(std::move(checkpoint));
    }

    void load(const Checkpoint& checkpoint) {
        log_ = evolution_log_from_json(checkpoint.text_at("evolution"));
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const std::string prefix = fmt::format("member {}/", m);
            Member member{.parameters = checkpoint.array_at(prefix + "parameters"),
                          .optimizer = {.steps = checkpoint.count_at(prefix + "steps"),
                                        .first = checkpoint.array_at(prefix + "first"),
                                        .second = checkpoint.array_at(prefix + "second")},
                          .settings = checkpoint.numbers_at(prefix + "settings")};
            if (member.parameters.size() != members_[m].parameters.size() ||
                member.settings.size() != members_[m].settings.size()) {
                throw CheckpointError(
                    fmt::format("member {} of the checkpoint has {} parameters and {} settings", m,
                                member.parameters.size(), member.settings.size()));
            }
            members_[m] = std::move(member);
        }
    }

    const TrainingJob& job_;
    const PopulationBased& strategy_;
    RoundKeeper keeper_;
    DeviceTeam team_;
    std::vector<Member> members_;
    std::vector<std::size_t> samples_;
    EvolutionLog log_;
};

}  // namespace

TrainingReport train_population(const TrainingJob& job) {
    return PopulationTraining(job).run();
}

std::vector<float> replay_member(const Model& model, const DataSource& data,
                                 const EvolutionLog& log, std::uint32_t member,
                                 const TrainingOptions& options) {
    const std::vector<std::uint32_t> line = lineage(log, member);
    Trainee trainee(model, data, options.devices.empty() ? 0 : options.devices[0], options);
    std::vector<std::size_t> samples(data.size());
    std::iota(samples.begin(), samples.end(), std::size_t{0});
    Member life{.parameters = std::vector<float>(trainee.parameter_count()),
                .optimizer = trainee.optimizer_state(),
                .settings = {}};
    model.initialize(life.parameters, Random(options.seed, 0x3e3be2, line[0]).next());
    for (std::size_t g = 0; g < line.size(); ++g) {
        life.settings = log.generations[g][line[g]].settings;
        live(trainee, life, {g, line[g], log.hyperparameters, samples, &options});
    }
    return life.parameters;
}

std::vector<float> replay_member(const Graph& graph, const DataSource& data,
                                 const EvolutionLog& log, std::uint32_t member,
                                 const TrainingOptions& options) {
    return replay_member(GraphModel(graph, data), data, log, member, options);
}

}  // namespace rondo::training
