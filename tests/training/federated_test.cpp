// Federated training: equality with data-parallel training, lying and failing clients, selection.
#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/training/support.hpp"
#include "training/federated/aggregate.hpp"
#include "training/federated/selection.hpp"

namespace rondo::training::test {
namespace {

const std::vector<std::uint32_t> hidden{16};

std::vector<ClientUpdate> updates_of(const std::vector<std::vector<float>>& values) {
    std::vector<ClientUpdate> updates;
    for (const auto& value : values) updates.push_back({updates.size(), value, 1});
    return updates;
}

TEST(Aggregation, MedianAndTrimmedMean) {
    const float nan = std::nanf("");
    const auto updates = updates_of({{1, 5}, {2, nan}, {3, 7}, {100, 6}, {-9, 8}});
    EXPECT_EQ(coordinate_median(updates), (std::vector<float>{2, 7}));
    EXPECT_EQ(coordinate_median(updates_of({{1}, {2}, {4}, {9}})), (std::vector<float>{3}));
    EXPECT_EQ(trimmed_mean(updates, 0.2), (std::vector<float>{2, 7}));
    EXPECT_EQ(trimmed_mean(updates_of({{1}, {2}, {6}}), 0.2), (std::vector<float>{3}));
}

TEST(Aggregation, KrumScoresAreSumsOfSquaredDistances) {
    // n = 5, f = 1: the 2 nearest others.
    const auto scores = krum_scores(updates_of({{0}, {1}, {3}, {6}, {100}}), 1);
    EXPECT_EQ(scores, (std::vector<double>{1 + 9, 1 + 4, 4 + 9, 9 + 25, 94 * 94 + 97 * 97}));
}

/// Five clients with 1 to 5 samples, the last one far away; by hand.
TEST(Aggregation, WeightsBySamplesWhereTheFormulaHasThem) {
    const std::vector<ClientUpdate> updates{
        {0, {0}, 1}, {1, {1}, 2}, {2, {3}, 3}, {3, {6}, 4}, {4, {100}, 5}};
    const auto result = [&](const FederatedAggregation& aggregation) {
        return ServerAggregator(aggregation).aggregate(std::vector<float>{0}, updates)[0];
    };
    const float mean = (0 * 1 + 1 * 2 + 3 * 3 + 6 * 4 + 100 * 5) / 15.0f;
    EXPECT_FLOAT_EQ(result(FedAvg{}), mean);
    EXPECT_FLOAT_EQ(result(FedProx{0.5}), mean);
    EXPECT_FLOAT_EQ(result(FedAvgM{.server_learning_rate = 1, .server_momentum = 0.5}), mean);
    EXPECT_FLOAT_EQ(result(FedMedian{}), 3);
    EXPECT_FLOAT_EQ(result(FedTrimmedAvg{0.2}), (1 + 3 + 6) / 3.0f);
    EXPECT_FLOAT_EQ(result(Krum{1}), 1);
    // All but one, and the best two: clients 1 and 0.
    EXPECT_FLOAT_EQ(result(MultiKrum{.byzantine = 1}), (0 * 1 + 1 * 2 + 3 * 3 + 6 * 4) / 10.0f);
    EXPECT_FLOAT_EQ(result(MultiKrum{.byzantine = 1, .keep = 2}), (0 * 1 + 1 * 2) / 3.0f);
}

TEST(Aggregation, ServerOptimisers) {
    const std::vector<float> global{1};
    ServerAggregator momentum(FedAvgM{.server_learning_rate = 0.5, .server_momentum = 0.5});
    EXPECT_FLOAT_EQ(momentum.aggregate(global, updates_of({{3}}))[0], 2);    // v = -2
    EXPECT_FLOAT_EQ(momentum.aggregate(global, updates_of({{3}}))[0], 2.5);  // v = -3
    for (const bool corrected : {false, true}) {
        ServerAggregator adam(FedAdam{0.1, 0.9, 0.99, 1e-3, corrected});
        const double first = corrected ? std::sqrt(1 - 0.99 * 0.99) / (1 - 0.9 * 0.9) : 1;
        const double second =
            corrected ? std::sqrt(1 - std::pow(0.99, 3)) / (1 - std::pow(0.9, 3)) : 1;
        // m = 0.1 * 2, v = 0.01 * 4
        EXPECT_FLOAT_EQ(adam.aggregate(global, updates_of({{3}}), 0)[0],
                        static_cast<float>(1 + first * 0.1 * 0.2 / (0.2 + 1e-3)));
        // m = 0.9 * 0.2 + 0.1 * 2, v = 0.99 * 0.04 + 0.01 * 4
        EXPECT_FLOAT_EQ(adam.aggregate(global, updates_of({{3}}), 1)[0],
                        static_cast<float>(1 + second * 0.1 * 0.38 / (std::sqrt(0.0796) + 1e-3)));
    }
}

TEST(Aggregation, PreconditionsAreStated) {
    ServerAggregator krum(Krum{1});
    expect_words(error_of<InvalidArgument>([&] {
                     krum.aggregate(std::vector<float>{0}, updates_of({{1}, {2}, {3}, {4}}));
                 }),
                 {"2 * 1 + 3 = 5 updates, there are 4"});
}

TEST(Selection, IsReproducibleAndFair) {
    Federated strategy{.num_clients = 10, .client_selection = SelectRandom{0.35, 2, 5}};
    std::vector<int> seen(10);
    for (std::uint64_t round = 0; round < 200; ++round) {
        const auto clients = select_clients(strategy, round);
        EXPECT_EQ(clients.size(), 3u);
        EXPECT_EQ(clients, select_clients(strategy, round));
        for (const std::size_t client : clients) ++seen[client];
    }
    for (const int count : seen) EXPECT_NEAR(count, 60, 25);
    strategy.client_selection = SelectRandom{0.0, 4, 5};
    EXPECT_EQ(select_clients(strategy, 0).size(), 4u);
    strategy.client_selection = SelectRoundRobin{4};
    EXPECT_EQ(select_clients(strategy, 0), (std::vector<std::size_t>{0, 1, 2, 3}));
    EXPECT_EQ(select_clients(strategy, 2), (std::vector<std::size_t>{0, 1, 8, 9}));
}

/// All clients, one local step, equal shards. Bound: 1e-6 relative.
TEST(FederatedTraining, OneLocalStepOfAllClientsIsDataParallel) {
    const Table data = synthetic::digits(80, 0.3f, 5);
    const Graph graph = dense_network(hidden, 10);
    const auto parallel =
        train(graph, DataParallel{4}, data,
              {.epochs = 10, .batch_size = 80, .optimizer = Sgd{0.2}, .shuffle = false})
            .parameters;
    const auto federated = train(graph, Federated{.num_clients = 4, .rounds = 10}, data,
                                 {.batch_size = 20,
                                  .optimizer = Sgd{0.2},
                                  .shuffle = false,
                                  .federated = {.local_steps = 1}})
                               .parameters;
    EXPECT_LT(distance(parallel, federated), 1e-6);
}

/// What a lying client sends instead of its model.
struct Attack {
    std::string name;
    std::vector<float> values;  ///< liars take them by turns
};

const std::vector<Attack>& attacks() {
    static const float nan = std::numeric_limits<float>::quiet_NaN();
    static const std::vector<Attack> all{
        {"1e6", {1e6f}}, {"NaN", {nan}}, {"all kinds", {-1e6f, nan, 1e6f, -INFINITY, INFINITY}}};
    return all;
}

/// Clients in the middle of the list: who forgets to sort takes them for the median.
bool lies(std::size_t client, std::size_t clients, std::size_t liars) {
    const std::size_t first = (clients - liars) / 2;
    return client >= first && client < first + liars;
}

/// n clients of which the stated number lie: what comes out lies between the honest values, and for
/// Krum it is one of them. With FedAvg one liar is enough.
TEST(Aggregation, WhatLiarsSendDoesNotComeThrough) {
    std::mt19937 random(4);
    for (const Attack& attack : attacks()) {
        for (const std::size_t n : {3u, 4u, 5u, 7u, 10u, 11u}) {
            SCOPED_TRACE(attack.name + ", " + std::to_string(n) + " clients");
            const auto result = [&](const FederatedAggregation& aggregation, std::size_t liars) {
                std::vector<ClientUpdate> updates;
                for (std::size_t c = 0; c < n; ++c) {
                    updates.push_back({c, std::vector<float>(6), 1 + random() % 9});
                    for (std::size_t i = 0; i < 6; ++i) {
                        updates[c].parameters[i] = lies(c, n, liars)
                                                       ? attack.values[c % attack.values.size()]
                                                       : static_cast<float>(random() % 1000) / 1000;
                    }
                }
                return ServerAggregator(aggregation).aggregate(std::vector<float>(6), updates);
            };
            const auto honest = [](const std::vector<float>& values) {
                return std::ranges::all_of(values, [](float v) { return v >= 0 && v < 1; });
            };
            EXPECT_TRUE(honest(result(FedAvg{}, 0)));
            EXPECT_FALSE(honest(result(FedAvg{}, 1)));
            EXPECT_TRUE(honest(result(FedMedian{}, (n - 1) / 2)));
            for (const double beta : {0.1, 0.2, 0.34, 0.49}) {
                const auto stated = static_cast<std::size_t>(beta * static_cast<double>(n));
                EXPECT_TRUE(honest(result(FedTrimmedAvg{beta}, stated))) << beta;
            }
            for (std::uint32_t f = 0; 2 * f + 3 <= n; ++f) {
                EXPECT_TRUE(honest(result(Krum{f}, f))) << f;
                EXPECT_TRUE(honest(result(MultiKrum{f}, f))) << f;
            }
        }
    }
}

/// Eleven clients, of which some lie in every round. The share of unseen digits that is right.
double accuracy_under(const Attack& attack, const FederatedAggregation& aggregation,
                      std::size_t liars) {
    const Table data = synthetic::digits(sanitized ? 110 : 770, 0.1f, 6);
    const Table check = synthetic::digits(200, 0.1f, 7);
    TrainingOptions options{.batch_size = 20, .optimizer = Sgd{0.1, 0.9}, .validation = &check};
    options.federated.local_epochs = sanitized ? 1 : 5;
    options.federated.on_update = [&](std::uint64_t, std::size_t client, std::span<float> update) {
        if (!lies(client, 11, liars)) return;
        std::ranges::fill(update, attack.values[client % attack.values.size()]);
    };
    const Federated strategy{
        .num_clients = 11, .rounds = sanitized ? 2u : 8u, .aggregation = aggregation};
    const Graph graph = dense_network(std::vector<std::uint32_t>{32}, 10);
    return train(graph, strategy, data, options).validation->accuracy;
}

/// FedMedian stands 5 liars of 11, FedTrimmedAvg(0.3) int(0.3 * 11) = 3, Krum and MultiKrum those
/// that they are told of, here 4, the most that 11 clients allow. Without liars FedAvg has 95 %.
TEST(FederatedTraining, RobustAggregationSurvivesLiesWhereFedAvgDoesNot) {
    const double good = sanitized ? 0 : 0.9;
    EXPECT_GE(accuracy_under({"none", {}}, FedAvg{}, 0), sanitized ? 0 : 0.95);
    for (const Attack& attack : {attacks()[0], attacks()[1]}) {
        SCOPED_TRACE(attack.name);
        EXPECT_LT(accuracy_under(attack, FedAvg{}, 1), 0.3);
        EXPECT_GE(accuracy_under(attack, FedMedian{}, 5), good);
        EXPECT_GE(accuracy_under(attack, FedTrimmedAvg{0.3}, 3), good);
        EXPECT_GE(accuracy_under(attack, Krum{4}, 4), good);
        EXPECT_GE(accuracy_under(attack, MultiKrum{4}, 4), good);
    }
    // One more than stated is too much.
    EXPECT_LT(accuracy_under(attacks()[0], FedTrimmedAvg{0.3}, 4), 0.3);
    EXPECT_LT(accuracy_under(attacks()[0], FedMedian{}, 6), 0.3);
}

TEST(FederatedTraining, EveryAggregationLearns) {
    for (const FederatedAggregation& aggregation :
         std::vector<FederatedAggregation>{FedProx{0.05}, FedMedian{}, FedTrimmedAvg{}, Krum{2},
                                           MultiKrum{2}, FedAvgM{1.0, 0.5}, FedAdam{.eta = 0.06}}) {
        EXPECT_GE(accuracy_under({"none", {}}, aggregation, 0), sanitized ? 0 : 0.9)
            << aggregation.index();
    }
}

TEST(FederatedTraining, ProximalTermKeepsClientsNear) {
    const Table data = synthetic::digits(40, 0.3f, 6);
    const Graph graph = dense_network(hidden, 10);
    const auto start = initial_parameters(graph, data, 0);
    const auto moved = [&](double mu) {
        const auto result = train(graph, Federated{2, 1, FedProx{mu}}, data,
                                  {.batch_size = 5, .federated = {.local_epochs = 5}})
                                .parameters;
        double sum = 0;
        for (std::size_t i = 0; i < result.size(); ++i) sum += std::pow(result[i] - start[i], 2);
        return std::sqrt(sum);
    };
    EXPECT_EQ(moved(0), moved(0));
    EXPECT_LT(moved(1), 0.8 * moved(0));
    EXPECT_LT(moved(5), 0.5 * moved(1));
}

TEST(FederatedTraining, FailedClientsAreDroppedAndCounted) {
    const Table data = synthetic::digits(60, 0.3f, 6);
    const Graph graph = dense_network(hidden, 10);
    TrainingOptions options{.batch_size = 5};
    options.federated.on_update = [](std::uint64_t round, std::size_t client, std::span<float>) {
        if (client == 1 || round == 2) throw Error("the line is dead");
    };
    options.federated.owner = [](std::size_t sample) { return sample % 3; };
    const TrainingReport report =
        train(graph, Federated{.num_clients = 4, .rounds = 3}, data, options);
    // Client 1 always, client 3 has no samples, and in round 2 all.
    ASSERT_EQ(report.client_failures.size(), 2u + 2u + 4u);
    EXPECT_EQ(report.client_failures[0].client, 1u);
    EXPECT_EQ(report.client_failures[0].reason, "the line is dead");
    expect_words(report.client_failures[1].reason, {"no samples"});
    ASSERT_EQ(report.notes.size(), 1u);
    expect_words(report.notes[0], {"round 2", "no client"});
    EXPECT_EQ(report.rounds, 3u);
    // A run that goes on has not forgotten them.
    const rondo::testing::TemporaryFolder folder;
    options.checkpoint = folder.file("run");
    train(graph, Federated{.num_clients = 4, .rounds = 2}, data, options);
    options.resume = options.checkpoint;
    const TrainingReport rest =
        train(graph, Federated{.num_clients = 4, .rounds = 3}, data, options);
    EXPECT_EQ(rest.parameters, report.parameters);
    EXPECT_EQ(rest.notes, report.notes);
    ASSERT_EQ(rest.client_failures.size(), report.client_failures.size());
    EXPECT_EQ(rest.client_failures[0].reason, "the line is dead");
}

/// Whoever watches or changes updates needs no lock, and sees them in order.
TEST(FederatedTraining, UpdatesAreShownClientByClient) {
    const Table data = synthetic::digits(40, 0.3f, 6);
    std::vector<std::size_t> seen;
    TrainingOptions options{.batch_size = 5};
    options.federated.on_update = [&](std::uint64_t, std::size_t client, std::span<float>) {
        seen.push_back(client);
    };
    train(dense_network(hidden, 10), Federated{.num_clients = 4, .rounds = 2}, data, options);
    EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(FederatedTraining, ATimelineHasEveryClient) {
    const Table data = synthetic::digits(40, 0.3f, 6);
    Timeline timeline;
    train(dense_network(hidden, 10), Federated{.num_clients = 3, .rounds = 2}, data,
          {.batch_size = 5, .timeline = &timeline});
    EXPECT_EQ(timeline.spans().size(), 6u);
    expect_words(timeline.to_chrome_trace(), {"client 0", "client 2", "\"tid\": 0"});
}

TEST(FederatedTraining, TooFewUpdatesForKrumSkipTheRoundWithAReason) {
    const Table data = synthetic::digits(60, 0.3f, 6);
    TrainingOptions options{.batch_size = 5};
    options.federated.on_update = [](std::uint64_t round, std::size_t client, std::span<float>) {
        if (client == 0 && round == 0) throw Error("away");
    };
    const TrainingReport report =
        train(dense_network(hidden, 10), Federated{5, 2, Krum{1}}, data, options);
    ASSERT_EQ(report.notes.size(), 1u);
    expect_words(report.notes[0], {"round 0 was skipped", "5 updates, there are 4"});
}

/// Layers that stay with the clients never reach the coordinator.
TEST(FederatedTraining, ALocalSubgraphIsPersonal) {
    const Table data = synthetic::digits(40, 0.3f, 6);
    Graph graph;
    graph.add_subgraph("head");
    graph.add(dense("body", 8)).add(dense("out", 10), "head");
    graph.set_strategy(Federated{.num_clients = 2, .rounds = 3});
    graph.set_strategy("head", Local{});
    const auto start = initial_parameters(graph, data, 0);
    const auto result = train(graph, data, {.batch_size = 5}).parameters;
    const std::size_t body = 64 * 8 + 8;
    EXPECT_TRUE(std::equal(start.begin() + body, start.end(), result.begin() + body));
    EXPECT_NE(start[0], result[0]);
}

TEST(FederatedTraining, ClientsSeeOnlyTheirOwnSamples) {
    struct Watched : HostModel {
        std::vector<ParameterInfo> parameters() const override { return {{"w", 1}}; }
        double loss_and_gradient(std::span<const float>, std::span<const Sample> batch,
                                 std::span<float> gradient) const override {
            // Features are the owner: a batch of one client has one value only.
            for (const Sample& sample : batch) {
                mixed = mixed || sample.features[0] != batch[0].features[0];
            }
            gradient[0] = 0;
            return 0;
        }
        Evaluation evaluate(std::span<const float>, std::span<const Sample>) const override {
            return {};
        }
        mutable std::atomic<bool> mixed = false;
    };
    Table data(1, 1);
    for (int i = 0; i < 30; ++i) {
        const float owner = static_cast<float>(i / 10), target = 0;
        data.add(std::span(&owner, 1), std::span(&target, 1));
    }
    const Watched model;
    TrainingOptions options{.batch_size = 4};
    options.federated.owner = [](std::size_t sample) { return sample / 10; };
    train(model, Federated{.num_clients = 3, .rounds = 2}, data, options);
    EXPECT_FALSE(model.mixed);
    options.federated.owner = [](std::size_t sample) { return sample; };
    expect_words(error_of<InvalidArgument>([&] {
                     train(model, Federated{.num_clients = 3, .rounds = 2}, data, options);
                 }),
                 {"sample 3 belongs to client 3", "3"});
}

}  // namespace
}  // namespace rondo::training::test
