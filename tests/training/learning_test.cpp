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
    return {{"local", Local{}, 0.93, 0.93},
            {"replicas", DataParallel{4}, 0.93, 0.93},
            {"pipeline", pipeline, 0.93, 0.93},
            {"federated", Federated{.num_clients = 4, .rounds = 40}, 0.9, 0.9},
            {"population", PopulationBased{.population_size = 4, .generations = 12}, 0.9, 0.9},
            {"custom", Custom{.coordinator = "alone"}, 0.93, 0.93}};
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
    TrainingOptions options{.epochs = 30,
                            .batch_size = 32,
                            .optimizer = Adam{.learning_rate = 0.01},
                            .validation = &unseen,
                            .coordinators = &registry};
    options.federated.local_epochs = 8;
    options.population.epochs_per_generation = 5;
    return train(dense_network(std::vector<std::uint32_t>{24, 24}, outputs), row.strategy, data,
                 options)
        .validation->accuracy;
}

TEST(Learning, EveryStrategyLearnsDigitsAndSpirals) {
    const Table digits = synthetic::digits(1200, 0.2f, 1), more = synthetic::digits(300, 0.2f, 2);
    const Table spirals = synthetic::two_spirals(500, 0.03f, 1);
    const Table others = synthetic::two_spirals(300, 0.03f, 2);
    for (const LearningCase& row : learning_cases()) {
        EXPECT_GT(accuracy(row, digits, more, 10), row.digits) << row.name << ", digits";
        EXPECT_GT(accuracy(row, spirals, others, 2), row.spirals) << row.name << ", spirals";
    }
}

}  // namespace
}  // namespace rondo::training::test
