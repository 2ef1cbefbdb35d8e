// Every strategy learns what the samples' generators make, to a stated accuracy on unseen samples.
#include "rondo/training/coordinator.hpp"
#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

struct LearningCase {
    std::string name;
    TrainingStrategy strategy;
    double digits;   ///< share of unseen digits that must be right
    double spirals;  ///< and of unseen points of two spirals
};

std::vector<LearningCase> learning_cases() {
    const ModelParallel pipeline{
        .partitions = {{{"dense0", "activation0"}, 0}, {{"dense1", "activation1", "dense2"}, 1}},
        .micro_batches = 4};
    const std::uint32_t rounds = sanitized ? 1 : 12;
    return {
        {"local", Local{}, 0.97, 0.97},
        {"replicas", DataParallel{4}, 0.97, 0.97},
        {"pipeline", pipeline, 0.97, 0.97},
        {"federated", Federated{.num_clients = 4, .rounds = rounds}, 0.97, 0.97},
        {"population", PopulationBased{.population_size = 4, .generations = rounds}, 0.97, 0.97},
        {"custom", Custom{.coordinator = "alone"}, 0.97, 0.97}};
}

double accuracy(const LearningCase& row, const Table& data, const Table& unseen,
                std::uint32_t outputs) {
    CoordinatorRegistry registry;
    registry.add("alone", [](const CoordinatorContext& context) {
        LocalTrainer trainer(context.model, context.data, context.devices[0], context.options);
        std::vector<std::size_t> all(context.data.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        for (std::uint32_t e = 0; e < context.options.epochs; ++e) trainer.train_epoch(all, e);
        TrainingReport report;
        report.validation = trainer.evaluate(*context.options.validation);
        return report;
    });
    const std::uint32_t longer = sanitized ? 1 : outputs == 2 ? 8 : 1;  // spirals are hard
    TrainingOptions options{.epochs = 10 * longer,
                            .batch_size = 20,
                            .optimizer = Adam{.learning_rate = 0.01},
                            .validation = &unseen,
                            .coordinators = &registry};
    options.federated.local_epochs = 2 * longer;
    options.population.epochs_per_generation = longer;
    return train(dense_network(std::vector<std::uint32_t>{24, 24}, outputs), row.strategy, data,
                 options)
        .validation->accuracy;
}

TEST(Learning, EveryStrategyLearnsDigitsAndSpirals) {
    const Table digits = synthetic::digits(600, 0.1f, 1), more = synthetic::digits(300, 0.1f, 2);
    const Table spirals = synthetic::two_spirals(400, 0.03f, 1);
    const Table others = synthetic::two_spirals(300, 0.03f, 2);
    for (const LearningCase& row : learning_cases()) {
        EXPECT_GE(accuracy(row, digits, more, 10), sanitized ? 0 : row.digits) << row.name;
        EXPECT_GE(accuracy(row, spirals, others, 2), sanitized ? 0 : row.spirals)
            << row.name << ", spirals";
    }
}

}  // namespace
}  // namespace rondo::training::test
