// A network too large for one GPU: half of it on each of two, micro-batches follow each other.
// Needs two GPUs.
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
    Graph graph = dense_network(std::vector<std::uint32_t>{32, 32}, 2);
    graph.set_strategy(ModelParallel{
        .partitions = {{{"dense0", "activation0"}, 0}, {{"dense1", "activation1", "dense2"}, 1}},
        .micro_batches = 4,
        .pipeline = PipelineKind::one_forward_one_backward});
    const TrainingReport report = train(graph, spirals,
                                        {.epochs = 60,
                                         .batch_size = 40,
                                         .optimizer = Adam{.learning_rate = 0.01},
                                         .validation = &unseen});
    std::printf("%s", report.timetable.c_str());
    std::printf("bubble: %.1f %% of the work\n", 100 * report.bubble);
    std::printf("right: %.1f %% of %zu unseen points\n", 100 * report.validation->accuracy,
                report.validation->samples);
    const std::string folder = argc > 1 ? argv[1] : ".";
    std::ofstream(folder + "/pipeline.svg")
        << draw_curves(report.curves, {.title = "Loss", .x_label = "epoch"});
    return report.validation->accuracy > 0.95 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "train_pipeline: %s\n", error.what());
    return 1;
}
