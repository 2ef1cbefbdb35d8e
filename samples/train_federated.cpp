// Federated averaging: ten clients keep their samples to themselves; two of them lie. The average
// breaks down, the median does not.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include <rondo/training/chart.hpp>
#include <rondo/training/train.hpp>

#include "synthetic_data.hpp"

int main(int argc, char** argv) try {
    using namespace rondo::training;
    const Table digits = synthetic::digits(1500, 0.2f, 1), unseen = synthetic::digits(500, 0.2f, 2);
    const Graph graph = dense_network(std::vector<std::uint32_t>{24}, 10);
    TrainingOptions options{.batch_size = 20,
                            .optimizer = Sgd{.learning_rate = 0.1, .momentum = 0.9},
                            .validation = &unseen};
    options.federated.local_epochs = 2;
    const UpdateHook lie = [](std::uint64_t, std::size_t client, std::span<float> parameters) {
        if (client < 2) std::ranges::fill(parameters, 1e6f);
    };

    std::vector<Curve> curves;
    std::printf("aggregation  liars  right\n");
    const auto run = [&](const char* name, FederatedAggregation aggregation, bool lies) {
        options.federated.on_update = lies ? lie : UpdateHook();
        const TrainingReport report =
            train(graph, Federated{.num_clients = 10, .rounds = 15, .aggregation = aggregation},
                  digits, options);
        std::printf("%-11s  %5d  %.1f %%\n", name, lies ? 2 : 0, 100 * report.validation->accuracy);
        for (const Curve& curve : report.curves) {
            if (curve.name == "validation") {
                curves.push_back({std::string(name) + (lies ? ", 2 lie" : ""), curve.points});
            }
        }
        return report.validation->accuracy;
    };
    const double honest = run("FedAvg", FedAvg{}, false);
    const double fooled = run("FedAvg", FedAvg{}, true);
    const double robust = run("FedMedian", FedMedian{}, true);
    const std::string folder = argc > 1 ? argv[1] : ".";
    std::ofstream(folder + "/federated.svg")
        << draw_curves(curves, {.title = "Accuracy on unseen digits", .accuracy = true});
    return honest > 0.9 && fooled < 0.5 && robust > 0.9 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "train_federated: %s\n", error.what());
    return 1;
}
