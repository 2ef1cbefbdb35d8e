// Data-parallel and model-parallel training give what one device gives.
#include <algorithm>
#include <cmath>
#include <random>

#include "rondo/training/pipeline.hpp"
#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/training/support.hpp"
#include "vgpu/control.hpp"

namespace rondo::training::test {
namespace {

const std::vector<std::uint32_t> hidden{24, 16};

/// Whole numbers, for which the gradient of the absolute error is a sum of small whole numbers.
Table whole_numbers(std::size_t samples) {
    Table table(5, 1);
    std::mt19937 random(9);
    for (std::size_t i = 0; i < samples; ++i) {
        float x[5], sum = 3;
        for (std::size_t k = 0; k < 5; ++k) {
            x[k] = static_cast<float>(random() % 9) - 4;
            sum += x[k] * (static_cast<float>(k) - 2);
        }
        table.add(x, std::span(&sum, 1));
    }
    return table;
}

/// A line by absolute error, from 0.
class Dyadic : public HostModel {
public:
    std::vector<ParameterInfo> parameters() const override { return {{"w", 5}, {"b", 1}}; }
    double loss_and_gradient(std::span<const float> w, std::span<const Sample> batch,
                             std::span<float> gradient) const override {
        double loss = 0;
        std::ranges::fill(gradient, 0.0f);
        for (const Sample& sample : batch) {
            float y = w[5];
            for (std::size_t k = 0; k < 5; ++k) y += w[k] * sample.features[k];
            const float error = y - sample.targets[0];
            const float sign = static_cast<float>((error > 0) - (error < 0));
            for (std::size_t k = 0; k < 5; ++k) gradient[k] += sign * sample.features[k];
            gradient[5] += sign;
            loss += std::abs(error);
        }
        for (float& value : gradient) value /= static_cast<float>(batch.size());
        return loss / static_cast<double>(batch.size());
    }
    Evaluation evaluate(std::span<const float>, std::span<const Sample>) const override {
        return {};
    }
};

/// Exact: gradients are multiples of 1/64 and small, parameters multiples of 1/1024, so no sum
/// rounds, in whatever order. 100 steps.
TEST(DataParallelTraining, IsLocalBitByBitWhereTheReductionIsExact) {
    const Table data = whole_numbers(640);
    const TrainingOptions options{.epochs = 10, .batch_size = 64, .optimizer = Sgd{0x1p-4}};
    const Dyadic model;
    const TrainingReport local = train(model, Local{}, data, options);
    EXPECT_EQ(local.steps, 100u);
    for (const std::uint32_t replicas : {1u, 2u, 4u, 8u}) {
        const TrainingReport report =
            train(model, DataParallel{.num_replicas = replicas}, data, options);
        EXPECT_EQ(report.parameters, local.parameters) << replicas;
    }
    // It also learns: the line is found.
    EXPECT_LT(local.curves[0].points.back().loss, 1.0);
}

/// Not exact: tanh and softmax in float. 100 steps, SGD with momentum. Bound: 2e-5 relative.
TEST(DataParallelTraining, IsLocalWithinABoundOtherwise) {
    const Table data = synthetic::digits(640, 0.3f, 1);
    const Graph graph = dense_network(hidden, 10);
    const TrainingOptions options{
        .epochs = sanitized ? 1u : 10u, .batch_size = 64, .optimizer = Sgd{0.1, 0.9, 1e-4}};
    const TrainingReport local = train(graph, Local{}, data, options);
    for (const std::uint32_t replicas : {1u, 2u, 4u, 8u}) {
        const TrainingReport report =
            train(graph, DataParallel{.num_replicas = replicas}, data, options);
        if (replicas == 1) {
            EXPECT_EQ(report.parameters, local.parameters);
        }
        EXPECT_LT(distance(local.parameters, report.parameters), 2e-5) << replicas;
        EXPECT_EQ(report.steps, sanitized ? 10u : 100u);
    }
}

/// 50 samples in batches of 7 on 4 replicas: 2, 2, 2, 1, and at the end 1, 0, 0, 0.
TEST(DataParallelTraining, UnevenShardsAreWeighted) {
    const Table data = synthetic::digits(50, 0.3f, 2);
    const Graph graph = dense_network(hidden, 10);
    for (const OptimizerSettings& optimizer :
         std::vector<OptimizerSettings>{Sgd{0.1}, Adam{.learning_rate = 0.01}}) {
        const TrainingOptions options{.epochs = 3, .batch_size = 7, .optimizer = optimizer};
        const TrainingReport local = train(graph, Local{}, data, options);
        const TrainingReport report = train(graph, DataParallel{.num_replicas = 4}, data, options);
        EXPECT_LT(distance(local.parameters, report.parameters), 1e-4) << to_string(optimizer);
        // An unweighted mean of the same shards is something else.
        const TrainingReport mean =
            train(graph, DataParallel{4, GradientAggregation::mean}, data, options);
        EXPECT_GT(distance(local.parameters, mean.parameters), 1e-3);
    }
}

/// Any number of replicas, and batches smaller than it.
TEST(DataParallelTraining, OddNumbersOfReplicasAndTinyBatches) {
    const Graph graph = dense_network(hidden, 10);
    for (const std::size_t samples : sanitized ? std::vector{5u} : std::vector{1u, 5u, 20u}) {
        const Table data = synthetic::digits(samples, 0.3f, 2);
        for (const std::size_t batch : {std::size_t{1}, std::size_t{3}, std::size_t{1} << 40}) {
            const TrainingOptions options{.epochs = 2, .batch_size = batch};
            const auto local = train(graph, Local{}, data, options).parameters;
            for (const std::uint32_t replicas : {3u, 5u, 7u}) {
                const auto parallel = train(graph, DataParallel{replicas}, data, options);
                EXPECT_LT(distance(local, parallel.parameters), 1e-5)
                    << samples << " in " << batch << " on " << replicas;
            }
        }
    }
}

TEST(DataParallelTraining, MeanAndSumOfReplicas) {
    const Table data = synthetic::digits(64, 0.3f, 2);
    const Graph graph = dense_network(hidden, 10);
    const auto run = [&](GradientAggregation aggregation, double rate) {
        return train(graph, DataParallel{4, aggregation}, data,
                     {.epochs = 2, .batch_size = 32, .optimizer = Sgd{rate}})
            .parameters;
    };
    // Equal shards: the mean is the weighted mean; the sum is four times the rate.
    const auto weighted = run(GradientAggregation::weighted_mean, 0.2);
    EXPECT_LT(distance(weighted, run(GradientAggregation::mean, 0.2)), 1e-5);
    EXPECT_LT(distance(weighted, run(GradientAggregation::sum, 0.05)), 1e-5);
}

TEST(DataParallelTraining, AccumulationAndHalfPrecision) {
    const Table data = synthetic::digits(96, 0.3f, 2);
    const Graph graph = dense_network(hidden, 10);
    TrainingOptions options{.epochs = 3, .batch_size = 32};
    const auto plain = train(graph, Local{}, data, options).parameters;
    options.accumulation = 5;
    EXPECT_LT(distance(plain, train(graph, Local{}, data, options).parameters), 1e-5);
    EXPECT_LT(distance(plain, train(graph, DataParallel{3}, data, options).parameters), 1e-5);
    for (const GradientHook hook : {GradientHook::bf16, GradientHook::f16}) {
        options.buckets = {.bucket_bytes = 4096, .first_bucket_bytes = 512, .hook = hook};
        EXPECT_LT(distance(plain, train(graph, DataParallel{3}, data, options).parameters), 5e-3);
    }
}

TEST(Determinism, TheSameSeedGivesTheSameBits) {
    const Table data = synthetic::digits(200, 0.3f, 3);
    const Graph graph = dense_network(hidden, 10);
    const TrainingOptions options{.epochs = 3, .batch_size = 16, .seed = 5};
    const auto once = train(graph, DataParallel{4}, data, options).parameters;
    EXPECT_EQ(train(graph, DataParallel{4}, data, options).parameters, once);
    TrainingOptions other = options;
    other.seed = 6;
    EXPECT_NE(train(graph, DataParallel{4}, data, other).parameters, once);
}

// ---- pipelines ---------------------------------------------------------------------------------

Graph branching() {
    Graph graph;
    graph.add(dense("a", 12)).add(activation("b", Operation::tanh));
    graph.add(dense("c", 12)).add(activation("d", Operation::relu));
    graph.add({.id = "sum", .operation = Operation::add, .inputs = {"b", "d"}});
    graph.add(dense("e", 6, {"b"})).add(activation("f", Operation::sigmoid));
    graph.add({.id = "both", .operation = Operation::concat, .inputs = {"sum", "f", "input"}});
    graph.add(dense("out", 10));
    return graph;
}

struct PipelineCase {
    std::string name;
    Graph graph;
    std::vector<Partition> partitions;
};

std::vector<PipelineCase> pipeline_cases() {
    return {
        {"two",
         dense_network(hidden, 10),
         {{{"dense0", "activation0"}, 0}, {{"dense1", "activation1", "dense2"}, 1}}},
        {"four",
         dense_network(hidden, 10),
         {{{"dense0"}, 0}, {{"activation0", "dense1"}, 1}, {{"activation1"}, 2}, {{"dense2"}, 3}}},
        {"there and back",
         dense_network(hidden, 10),
         {{{"dense0", "dense1", "dense2"}, 0}, {{"activation0", "activation1"}, 1}}},
        {"backwards",
         dense_network(hidden, 10),
         {{{"dense0", "activation0"}, 1}, {{"dense1", "activation1", "dense2"}, 0}}},
        {"branches",
         branching(),
         {{{"a", "b", "both"}, 0}, {{"c", "d", "e"}, 1}, {{"sum", "f", "out"}, 2}}}};
}

/// Equal to the last bit: the same kernels on the same micro-batches, summed in the same order.
TEST(ModelParallelTraining, IsLocalBitByBit) {
    const Table data = synthetic::digits(60, 0.3f, 4);
    for (const PipelineCase& row : pipeline_cases()) {
        for (const std::uint32_t micro_batches :
             sanitized ? std::vector{4u} : std::vector{1u, 4u, 5u}) {
            TrainingOptions options{.epochs = 2, .batch_size = 22, .optimizer = Adam{0.01}};
            options.accumulation = micro_batches;
            const TrainingReport local = train(row.graph, Local{}, data, options);
            options.accumulation = 1;
            for (const PipelineKind kind :
                 {PipelineKind::gpipe, PipelineKind::one_forward_one_backward}) {
                for (const CommunicationProtocol protocol :
                     {CommunicationProtocol::peer_to_peer, CommunicationProtocol::through_host,
                      CommunicationProtocol::collective}) {
                    const ModelParallel strategy{row.partitions, protocol, micro_batches, kind};
                    const TrainingReport report = train(row.graph, strategy, data, options);
                    EXPECT_EQ(report.parameters, local.parameters)
                        << row.name << " " << to_string(TrainingStrategy(strategy));
                    EXPECT_EQ(report.curves[0].points.back().loss,
                              local.curves[0].points.back().loss);
                }
            }
        }
    }
}

TEST(ModelParallelTraining, MicroBatchesMayBeEmpty) {
    const Table data = synthetic::digits(5, 0.3f, 4);
    const PipelineCase row = pipeline_cases()[0];
    TrainingOptions options{.epochs = 2, .batch_size = 3, .accumulation = 6};
    const auto local = train(row.graph, Local{}, data, options).parameters;
    options.accumulation = 1;
    for (const PipelineKind kind : {PipelineKind::gpipe, PipelineKind::one_forward_one_backward}) {
        const ModelParallel strategy{
            .partitions = row.partitions, .micro_batches = 6, .pipeline = kind};
        EXPECT_EQ(train(row.graph, strategy, data, options).parameters, local);
    }
}

TEST(ModelParallelTraining, PartitionsThatDoNotFit) {
    const Table data = synthetic::digits(10, 0.3f, 4);
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 10);
    const auto error = [&](std::vector<Partition> partitions) {
        return error_of<InvalidArgument>(
            [&] { train(graph, ModelParallel{.partitions = partitions}, data); });
    };
    expect_words(error({{{"dense0"}, 0}, {{"dense1"}, 1}}), {"'activation0' is in no partition"});
    expect_words(error({{{"dense0", "activation0", "dense1", "x"}, 0}}), {"'x'", "not have"});
    expect_words(error({{{"dense0", "activation0"}, 0}, {{"dense1"}, 2}}),
                 {"worker 2", "none gives worker 1"});
    const std::vector<Partition> many{{{"dense0", "activation0"}, 0}, {{"dense1"}, 1}};
    expect_words(error_of<InvalidArgument>([&] {
                     train(graph, ModelParallel{.partitions = many}, data, {.devices = {0}});
                 }),
                 {"needs 2 devices", "there are 1"});
}

// ---- graphs with strategies inside -------------------------------------------------------------

TEST(NestedStrategies, AreInherited) {
    Graph graph;
    graph.add(dense("a", 3)).add_subgraph("outer").add_subgraph("inner", "outer");
    graph.add(dense("b", 3), "outer").add(dense("c", 2), "inner");
    EXPECT_EQ(graph.effective_strategy("inner"), TrainingStrategy());
    graph.set_strategy(DataParallel{4});
    EXPECT_EQ(graph.effective_strategy("inner"), TrainingStrategy(DataParallel{4}));
    graph.set_strategy("outer", Local{});
    EXPECT_EQ(graph.effective_strategy("inner"), TrainingStrategy(Local{}));
    EXPECT_EQ(graph.effective_strategy(), TrainingStrategy(DataParallel{4}));
    EXPECT_EQ(graph.strategy_of_node("c"), TrainingStrategy(Local{}));
    EXPECT_EQ(graph.strategy_of_node("a"), TrainingStrategy(DataParallel{4}));
    EXPECT_FALSE(graph.own_strategy("inner").has_value());
    expect_words(error_of<InvalidArgument>([&] { graph.effective_strategy("none"); }), {"'none'"});
    expect_words(error_of<InvalidArgument>([&] { graph.set_strategy("inner", DataParallel{0}); }),
                 {"/num_replicas is 0"});
}

/// A pipeline of two workers inside each of three replicas is what one device computes.
TEST(NestedStrategies, APipelineInsideReplicas) {
    const Table data = synthetic::digits(60, 0.3f, 4);
    Graph graph;
    graph.add(dense("in", 20)).add(activation("bend", Operation::tanh));
    graph.add_subgraph("tail");
    graph.add(dense("middle", 12), "tail").add(activation("bend2", Operation::tanh), "tail");
    graph.add(dense("out", 10), "tail");
    const TrainingOptions options{.epochs = 2, .batch_size = 16};
    const auto local = train(graph, Local{}, data, options).parameters;
    graph.set_strategy(DataParallel{3});
    const auto replicas = train(graph, data, options).parameters;
    graph.set_strategy("tail", ModelParallel{.partitions = {{{"middle"}, 0}, {{"bend2", "out"}, 1}},
                                             .micro_batches = 2});
    const TrainingReport report = train(graph, data, options);
    EXPECT_LT(distance(local, replicas), 1e-5);
    EXPECT_LT(distance(local, report.parameters), 1e-5);
    expect_words(report.timetable, {"worker 0", "worker 1", "F1", "B1"});
    EXPECT_GT(report.bubble, 0);
    EXPECT_GT(report.measured_bubble, 0);
}

/// The head is Local inside a data-parallel graph: its parameters are not averaged, so replica 0
/// has those that it learned from its own half of the samples.
TEST(NestedStrategies, ALocalSubgraphStaysWithItsReplica) {
    const Table data = synthetic::digits(40, 0.3f, 4);
    Graph graph;
    graph.add_subgraph("head");
    graph.add(dense("body", 10)).add(dense("out", 10), "head");
    const TrainingOptions options{.epochs = 1, .batch_size = 40, .shuffle = false};
    const std::vector<float> start = initial_parameters(graph, data, 0);
    std::vector<std::size_t> half;
    for (std::size_t i = 0; i < 40; i += 2) half.push_back(i);
    const auto all = train(graph, Local{}, data, options).parameters;
    const auto own = train(graph, Local{}, select_samples(data, half), options).parameters;
    graph.set_strategy(DataParallel{2});
    graph.set_strategy("head", Local{});
    const auto mixed = train(graph, data, options).parameters;
    const std::size_t body = 64 * 10 + 10;
    const auto part = [&](const std::vector<float>& values, bool head) {
        return head ? std::vector<float>(values.begin() + body, values.end())
                    : std::vector<float>(values.begin(), values.begin() + body);
    };
    EXPECT_LT(distance(part(all, false), part(mixed, false)), 1e-5);
    EXPECT_LT(distance(part(own, true), part(mixed, true)), 1e-5);
    EXPECT_GT(distance(part(all, true), part(mixed, true)), 1e-4);
}

TEST(NestedStrategies, WhatNobodyCanRunIsSaid) {
    const Table data = synthetic::digits(10, 0.3f, 4);
    Graph graph;
    graph.add_subgraph("part");
    graph.add(dense("out", 10), "part");
    graph.set_strategy(DataParallel{2});
    graph.set_strategy("part", Federated{});
    expect_words(error_of<Unsupported>([&] { train(graph, data); }),
                 {"'part'", "federated", "data_parallel"});
    graph.set_strategy("part", DataParallel{3});
    expect_words(error_of<Unsupported>([&] { train(graph, data); }), {"3 replicas", "2 replicas"});
    graph.set_strategy(PopulationBased{});
    graph.set_strategy("part", Local{});
    expect_words(error_of<Unsupported>([&] { train(graph, data); }), {"population_based"});
}

TEST(UnusedNodes, CostNothingAndStayAsTheyWere) {
    const Table data = synthetic::digits(40, 0.3f, 4);
    Graph graph;
    graph.add(dense("a", 8)).add(dense("unused", 5)).add(dense("out", 10, {"a"}));
    const auto start = initial_parameters(graph, data, 0);
    for (const TrainingStrategy& strategy : std::vector<TrainingStrategy>{
             Local{}, DataParallel{3},
             ModelParallel{.partitions = {{{"a"}, 0}, {{"unused", "out"}, 1}}}}) {
        const auto result = train(graph, strategy, data, {.batch_size = 10}).parameters;
        const std::size_t first = 64 * 8 + 8, count = 8 * 5 + 5;
        EXPECT_TRUE(std::equal(start.begin() + first, start.begin() + first + count,
                               result.begin() + first))
            << to_string(strategy);
        EXPECT_NE(result[0], start[0]);
    }
}

}  // namespace
}  // namespace rondo::training::test
