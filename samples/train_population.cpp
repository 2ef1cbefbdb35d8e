// A population looks for its learning rate while it trains on two spirals. The log tells who copied
// whom; the best member is trained again from it, bit by bit.
#include <cstdio>
#include <fstream>
#include <string>

#include <rondo/training/chart.hpp>
#include <rondo/training/train.hpp>

#include "synthetic_data.hpp"

int main(int argc, char** argv) try {
    using namespace rondo::training;
    const Table spirals = synthetic::two_spirals(600, 0.03f, 1);
    const Table unseen = synthetic::two_spirals(300, 0.03f, 2);
    const Graph graph = dense_network(std::vector<std::uint32_t>{24, 24}, 2);
    const TrainingOptions options{.batch_size = 30,
                                  .optimizer = Sgd{.momentum = 0.9},
                                  .validation = &unseen,
                                  .population = {.epochs_per_generation = 8}};
    const PopulationBased strategy{
        .population_size = 6,
        .generations = 8,
        .hyperparameters = {{.name = "learning_rate", .low = 1e-4, .high = 0.5}}};
    const TrainingReport report = train(graph, strategy, spirals, options);

    std::printf("generation  best learning rate  right\n");
    for (std::size_t g = 0; g < report.evolution->generations.size(); ++g) {
        const MemberRecord* best = nullptr;
        for (const MemberRecord& member : report.evolution->generations[g]) {
            if (best == nullptr || member.score < best->score) best = &member;
        }
        std::printf("%10zu  %18.4f  %.1f %%\n", g + 1, best->settings[0], 100 * best->accuracy);
    }
    const bool same = replay_member(graph, spirals, *report.evolution, report.evolution->best,
                                    options) == report.parameters;
    std::printf("trained again from the log: %s\n", same ? "the same bits" : "something else");
    const std::string folder = argc > 1 ? argv[1] : ".";
    std::ofstream(folder + "/population.svg")
        << draw_curves(report.curves, {.title = "Loss of each member", .x_label = "generation"});
    std::ofstream(folder + "/lineage.svg") << draw_lineage(*report.evolution);
    return same && report.validation->accuracy > 0.9 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "train_population: %s\n", error.what());
    return 1;
}
