// Populations: evolution by rule, logs that can be replayed, and a task that needs a changing rate.
#include <cmath>

#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/training/support.hpp"
#include "training/population/evolve.hpp"

namespace rondo::training::test {
namespace {

TEST(Evolution, TruncationCopiesFromTheBest) {
    Random random(1);
    const std::vector<double> scores{5, 1, 9, 2, 8, 3, 7, 4};
    for (int i = 0; i < 50; ++i) {
        const auto parents = exploit(Truncation{0.25}, scores, random);
        for (std::uint32_t m = 0; m < 8; ++m) {
            if (m == 2 || m == 4) {
                EXPECT_TRUE(parents[m] == 1 || parents[m] == 3);
            } else {
                EXPECT_EQ(parents[m], m);
            }
        }
    }
    EXPECT_EQ(exploit(Truncation{0}, scores, random)[2], 2u);
    EXPECT_EQ(exploit(Truncation{0.1}, std::vector<double>{2, 1}, random)[0], 1u);
    EXPECT_EQ(exploit(Truncation{0.5}, std::vector<double>{2}, random)[0], 0u);
}

TEST(Evolution, ATournamentNeverCopiesAWorseOne) {
    Random random(2);
    const std::vector<double> scores{3, 1, 2};
    bool copied = false;
    for (int i = 0; i < 50; ++i) {
        const auto parents = exploit(BinaryTournament{}, scores, random);
        for (std::size_t m = 0; m < 3; ++m) EXPECT_LE(scores[parents[m]], scores[m]);
        copied |= parents[0] != 0;
    }
    EXPECT_TRUE(copied);
}

TEST(Evolution, ExploringStaysInTheRange) {
    Random random(3);
    const std::vector<Hyperparameter> ranges{{"learning_rate", 0.01, 0.1, true}};
    const std::vector<double> settings{0.09};
    for (int i = 0; i < 200; ++i) {
        const double perturbed = explore(Perturb{{0.5, 2}}, ranges, settings, random)[0];
        EXPECT_TRUE(perturbed == 0.045 || perturbed == 0.1) << perturbed;
        const double drawn = explore(Resample{1}, ranges, settings, random)[0];
        EXPECT_GE(drawn, 0.01);
        EXPECT_LE(drawn, 0.1);
        EXPECT_EQ(explore(Resample{0}, ranges, settings, random)[0], 0.09);
    }
}

TEST(EvolutionLog, JsonThereAndBackAndLineage) {
    EvolutionLog log{.hyperparameters = {"learning_rate"},
                     .generations = {{{{0.1}, 3, 0.5, 1}, {{0.2}, 1, 0.6, 1}},
                                     {{{0.16}, 2, 0.7, 0}, {{0.2}, INFINITY, 0, 1}}},
                     .best = 0};
    EXPECT_EQ(evolution_log_from_json(to_json(log)), log);
    EXPECT_EQ(lineage(log, 0), (std::vector<std::uint32_t>{1, 0}));
    EXPECT_EQ(lineage(log, 1), (std::vector<std::uint32_t>{1, 1}));
    expect_words(error_of<InvalidArgument>([&] { lineage(log, 2); }), {"no member 2"});
    log.generations[0][0].parent = 7;
    expect_words(error_of<InvalidArgument>([&] { evolution_log_from_json(to_json(log)); }),
                 {"/generations/0/0", "parent 7"});
}

const Graph graph = dense_network(std::vector<std::uint32_t>{12}, 10);

TrainingOptions small_options(const Table& check) {
    return {.batch_size = 20, .optimizer = Sgd{.momentum = 0.5}, .seed = 4, .validation = &check};
}

TEST(PopulationTraining, EveryMemberCanBeReplayedBitByBit) {
    const Table data = synthetic::digits(100, 0.3f, 8), check = synthetic::digits(60, 0.3f, 9);
    const TrainingOptions options = small_options(check);
    const PopulationBased strategy{
        .population_size = 5, .generations = 6, .exploit = Truncation{0.4}};
    const TrainingReport report = train(graph, strategy, data, options);
    ASSERT_TRUE(report.evolution);
    EXPECT_EQ(report.evolution->generations.size(), 6u);
    bool copied = false;
    for (const auto& generation : report.evolution->generations) {
        for (std::uint32_t m = 0; m < 5; ++m) copied |= generation[m].parent != m;
    }
    EXPECT_TRUE(copied);
    const EvolutionLog log = evolution_log_from_json(to_json(*report.evolution));
    EXPECT_EQ(replay_member(graph, data, log, log.best, options), report.parameters);
    // And the whole run again, with other devices.
    TrainingOptions other = options;
    other.devices = {3, 1};
    EXPECT_EQ(train(graph, strategy, data, other).evolution, report.evolution);
}

/// |w - 100| by steps of the learning rate: far away a large rate is right, near the end a small
/// one. A fixed rate that arrives in time can't come nearer than half of itself.
class Distance : public HostModel {
public:
    std::vector<ParameterInfo> parameters() const override { return {{"w", 1}}; }
    double loss_and_gradient(std::span<const float> w, std::span<const Sample>,
                             std::span<float> gradient) const override {
        gradient[0] = w[0] > goal ? 1.0f : -1.0f;
        return std::abs(w[0] - goal);
    }
    Evaluation evaluate(std::span<const float> w, std::span<const Sample>) const override {
        return {.loss = std::abs(static_cast<double>(w[0]) - goal)};
    }
    static constexpr float goal = 99.9f;
};

TEST(PopulationTraining, BeatsTheBestFixedSettingWhereTheRightRateChanges) {
    Table data(1, 1);
    const float nothing = 0;
    for (int i = 0; i < 10; ++i) data.add(std::span(&nothing, 1), std::span(&nothing, 1));
    const std::vector<std::vector<double>> rates{{0.03}, {0.1}, {0.3}, {0.7},
                                                 {1.3},  {2.3}, {4.1}, {7.7}};
    TrainingOptions options{.batch_size = 1};
    options.population.initial = rates;
    PopulationBased strategy{.population_size = 8,
                             .generations = 30,
                             .explore = Perturb{{0.5, 1.5}},
                             .hyperparameters = {{"learning_rate", 1e-4, 10, true}}};
    const TrainingReport evolved = train(Distance(), strategy, data, options);
    const double best = evolved.evolution->generations.back()[evolved.evolution->best].score;
    strategy.exploit = Truncation{0};  // nobody copies: fixed settings
    const TrainingReport fixed = train(Distance(), strategy, data, options);
    const double best_fixed = fixed.evolution->generations.back()[fixed.evolution->best].score;
    EXPECT_GT(best_fixed, 0.1);
    EXPECT_LT(best, best_fixed / 10);
}

TEST(PopulationTraining, BadSettingsAreSaid) {
    const Table data = synthetic::digits(20, 0.3f, 8);
    TrainingOptions options{};
    options.population.initial = {{0.1}, {0.1}, {0.1}};
    expect_words(error_of<InvalidArgument>(
                     [&] { train(graph, PopulationBased{.population_size = 2}, data, options); }),
                 {"3 initial settings", "2 members"});
    options.population.initial = {{0.1, 0.2}};
    expect_words(error_of<InvalidArgument>(
                     [&] { train(graph, PopulationBased{.population_size = 2}, data, options); }),
                 {"member 0 are 2 numbers"});
}

}  // namespace
}  // namespace rondo::training::test
