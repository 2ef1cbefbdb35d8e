// Checkpoints: bytes there and back, damage that is noticed, runs that go on bit by bit, and
// processes that are killed while they write.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <cuda_runtime_api.h>

#include "rondo/training/checkpoint.hpp"
#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

using rondo::testing::TemporaryFolder;

Checkpoint sample() {
    return {.text = {{"a", "b"}, {"empty", ""}},
            .counts = {{"n", 7}},
            .numbers = {{"x", {1.5, -0.0, INFINITY}}},
            .arrays = {{"p", {1, 2, 3}}, {"none", {}}}};
}

TEST(CheckpointFile, BytesThereAndBack) {
    EXPECT_EQ(checkpoint_from_bytes(to_bytes(sample())), sample());
    EXPECT_EQ(checkpoint_from_bytes(to_bytes({})), Checkpoint());
    expect_words(error_of<CheckpointError>([] { sample().array_at("q"); }), {"'q'"});
}

TEST(CheckpointFile, AnyDamageIsNoticed) {
    const std::string bytes = to_bytes(sample());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (const int bit : {0, 3, 7}) {
            std::string damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
            EXPECT_THROW(checkpoint_from_bytes(damaged), CheckpointError) << i << " " << bit;
        }
        EXPECT_THROW(checkpoint_from_bytes(bytes.substr(0, i)), CheckpointError) << i;
    }
    EXPECT_THROW(checkpoint_from_bytes(bytes + "x"), CheckpointError);
    expect_words(error_of<CheckpointError>([] { checkpoint_from_bytes("no"); }), {"no checkpoint"});
    std::string newer = bytes;
    newer[8] = 9;
    expect_words(error_of<CheckpointError>([&] { checkpoint_from_bytes(newer); }), {"version 9"});
}

TEST(CheckpointFile, ErrorsNameTheFile) {
    expect_words(error_of<Error>([] { load_checkpoint("/no/such/file"); }), {"/no/such/file"});
    expect_words(error_of<Error>([] { save_checkpoint("/no/such/file", {}); }), {"/no/such/file"});
    const TemporaryFolder folder;
    std::ofstream(folder.file("bad")) << "RONDOCKP";
    expect_words(error_of<CheckpointError>([&] { load_checkpoint(folder.file("bad")); }),
                 {folder.file("bad"), "cut off"});
}

const Graph graph = dense_network(std::vector<std::uint32_t>{12}, 10);

struct ResumeCase {
    std::string name;
    TrainingStrategy half;
    TrainingStrategy whole;
    std::uint32_t half_epochs;
};

/// Three rounds and then three more are six.
TEST(Resume, ContinuesBitByBit) {
    const Table data = synthetic::digits(60, 0.3f, 1), check = synthetic::digits(30, 0.3f, 2);
    const ModelParallel pipeline{.partitions = {{{"dense0"}, 0}, {{"activation0", "dense1"}, 1}},
                                 .micro_batches = 3};
    const auto federated = [](std::uint32_t rounds) {
        return Federated{3, rounds, FedAdam{.eta = 0.02}, SelectRandom{0.7, 1, 3}};
    };
    const auto population = [](std::uint32_t generations) {
        return PopulationBased{.population_size = 4, .generations = generations};
    };
    const std::vector<ResumeCase> table{{"local", Local{}, Local{}, 3},
                                        {"replicas", DataParallel{4}, DataParallel{4}, 3},
                                        {"pipeline", pipeline, pipeline, 3},
                                        {"federated", federated(3), federated(6), 3},
                                        {"population", population(3), population(6), 3}};
    for (const ResumeCase& row : table) {
        for (const OptimizerSettings& optimizer :
             std::vector<OptimizerSettings>{Sgd{0.1, 0.9}, Adam{0.01}}) {
            SCOPED_TRACE(row.name + " " + to_string(optimizer));
            const TemporaryFolder folder;
            TrainingOptions options{.epochs = 6,
                                    .batch_size = 13,
                                    .optimizer = optimizer,
                                    .seed = 3,
                                    .validation = &check};
            const TrainingReport whole = train(graph, row.whole, data, options);
            options.epochs = row.half_epochs;
            options.checkpoint = folder.file("run");
            train(graph, row.half, data, options);
            options.epochs = 6;
            options.resume = options.checkpoint;
            options.checkpoint = "";
            const TrainingReport rest = train(graph, row.whole, data, options);
            EXPECT_EQ(rest.parameters, whole.parameters);
            EXPECT_EQ(rest.curves, whole.curves);
            EXPECT_EQ(rest.evolution, whole.evolution);
            EXPECT_EQ(rest.rounds, 6u);
            EXPECT_EQ(rest.steps, whole.steps);
        }
    }
}

/// Gradients that become ready in an order of their own: buckets are made anew by it after the
/// first step, and a run that goes on has to have the same ones, as sums of floats round.
class Shuffled final : public Model {
public:
    static constexpr std::size_t count = 6, width = 257;

    std::vector<ParameterInfo> parameters() const override {
        std::vector<ParameterInfo> infos;
        for (std::size_t p = 0; p < count; ++p) infos.push_back({std::to_string(p), width});
        return infos;
    }
    std::unique_ptr<ModelInstance> instantiate(int, const DataSource&, std::size_t) const override {
        class Instance final : public ModelInstance {
        public:
            void loss_and_gradient(const GradientRequest& request) override {
                std::vector<float> gradients(count * width);
                for (std::size_t i = 0; i < gradients.size(); ++i) {
                    for (const Sample& sample : request.batch.samples) {
                        gradients[i] += request.scale * sample.features[i % 64] / 3;
                    }
                }
                cudaMemcpyAsync(request.gradients, gradients.data(), 4 * gradients.size(),
                                cudaMemcpyDefault, request.stream);
                cudaStreamSynchronize(request.stream);
                for (const std::size_t p : {3u, 0u, 5u, 1u, 4u, 2u}) {
                    if (request.ready) request.ready(p);
                }
            }
            void evaluate(const Batch&, const float*, BatchStatistics*, cudaStream_t) override {}
        };
        return std::make_unique<Instance>();
    }
};

TEST(Resume, KeepsTheOrderOfBuckets) {
    const Table data = synthetic::digits(30, 0.3f, 1);
    const TemporaryFolder folder;
    TrainingOptions options{.epochs = 4, .batch_size = 30};
    options.buckets.bucket_bytes = options.buckets.first_bucket_bytes = 2 * 4 * Shuffled::width;
    const auto whole = train(Shuffled(), DataParallel{5}, data, options).parameters;
    options.epochs = 2;
    options.checkpoint = folder.file("run");
    train(Shuffled(), DataParallel{5}, data, options);
    const Checkpoint saved = load_checkpoint(options.checkpoint);
    EXPECT_EQ(saved.numbers_at("worker 0/sync 0/order"), (std::vector<double>{3, 0, 5, 1, 4, 2}));
    options.epochs = 4;
    options.resume = options.checkpoint;
    EXPECT_EQ(train(Shuffled(), DataParallel{5}, data, options).parameters, whole);
}

TEST(Resume, OfAnotherRunIsRefused) {
    const Table data = synthetic::digits(30, 0.3f, 1);
    const TemporaryFolder folder;
    TrainingOptions options{.checkpoint = folder.file("run")};
    train(graph, Local{}, data, options);
    options.resume = options.checkpoint;
    options.seed = 1;
    expect_words(error_of<CheckpointError>([&] { train(graph, Local{}, data, options); }),
                 {"another run", "seed 0", "seed 1"});
    options.seed = 0;
    expect_words(error_of<CheckpointError>([&] { train(graph, DataParallel{2}, data, options); }),
                 {"another run", "data_parallel"});
    std::ofstream(options.resume, std::ios::app) << "x";
    expect_words(error_of<CheckpointError>([&] { train(graph, Local{}, data, options); }),
                 {"cut off"});
}

/// Everything that changes the result makes another run; what doesn't may change.
TEST(Resume, KnowsEverySettingThatMatters) {
    const Table data = synthetic::digits(30, 0.3f, 1), check = synthetic::digits(10, 0.3f, 2);
    const Table other_data = synthetic::digits(30, 0.3f, 8), other = synthetic::digits(10, 0.3f, 9);
    const TemporaryFolder folder;
    TrainingOptions options{.epochs = 2, .validation = &check};
    using Change = std::function<void(TrainingOptions&)>;
    const auto expect_refused = [&](const Graph& own, const TrainingStrategy& strategy,
                                    const Table& table, const Change& change,
                                    const std::vector<std::string>& words) {
        TrainingOptions changed = options;
        changed.resume = folder.file("run");
        change(changed);
        const std::string text =
            error_of<CheckpointError>([&] { train(own, strategy, table, changed); });
        expect_words(text, {"another run"});
        expect_words(text, words);
    };
    const auto save = [&](const TrainingStrategy& strategy) {
        TrainingOptions first = options;
        first.checkpoint = folder.file("run");
        train(graph, strategy, data, first);
    };
    const Change nothing = [](TrainingOptions&) {};

    save(DataParallel{2});
    const std::vector<std::pair<Change, std::string>> everywhere{
        {[](auto& o) { o.batch_size = 7; }, "batch size 7"},
        {[](auto& o) { o.accumulation = 2; }, "accumulation 2"},
        {[](auto& o) { o.shuffle = false; }, "shuffle false"},
        {[](auto& o) { o.optimizer = Sgd{0.2}; }, "learning_rate 0.2"},
        {[](auto& o) { o.buckets.hook = GradientHook::bf16; }, "hook 1"},
        {[](auto& o) { o.buckets.bucket_bytes = 64; }, "buckets of 64 bytes"},
        {[&](auto& o) { o.validation = &other; }, "validation: 10 samples"}};
    for (const auto& [change, word] : everywhere) {
        expect_refused(graph, DataParallel{2}, data, change, {word});
    }
    expect_refused(graph, DataParallel{2}, other_data, nothing, {"data: 30 samples"});
    expect_refused(graph, DataParallel{2, GradientAggregation::mean}, data, nothing, {"mean"});
    const Graph relu =
        dense_network(std::vector<std::uint32_t>{12}, 10, Loss::cross_entropy, Operation::relu);
    expect_refused(relu, DataParallel{2}, data, nothing, {"activation0", "relu", "tanh"});

    save(Federated{2, 2});
    expect_refused(graph, Federated{2, 2}, data, [](auto& o) { o.federated.local_epochs = 3; },
                   {"local epochs 3"});
    expect_refused(graph, Federated{2, 2}, data, [](auto& o) { o.federated.local_steps = 3; },
                   {"local steps 3"});
    expect_refused(graph, Federated{2, 2}, data,
                   [](auto& o) { o.federated.owner = [](std::size_t i) { return i / 15; }; },
                   {"owners"});
    save(PopulationBased{2, 2});
    expect_refused(graph, PopulationBased{2, 2}, data,
                   [](auto& o) { o.population.epochs_per_generation = 3; },
                   {"epochs per generation 3"});
    expect_refused(graph, PopulationBased{2, 2}, data,
                   [](auto& o) { o.population.steps_per_generation = 3; },
                   {"steps per generation 3"});
    expect_refused(graph, PopulationBased{2, 2}, data,
                   [](auto& o) { o.population.initial = {{0.03}}; }, {"initial [[0.03]]"});

    options.resume = folder.file("run");
    options.devices = {1};
    options.timeout = std::chrono::minutes(1);
    EXPECT_EQ(train(graph, PopulationBased{2, 3}, data, options).rounds, 3u);
}

TEST(Resume, ARunThatLostItsPatienceHasEnded) {
    const Table data = synthetic::digits(30, 0.3f, 1), check = synthetic::digits(10, 0.3f, 2);
    const TemporaryFolder folder;
    TrainingOptions options{.epochs = 9,
                            .optimizer = Sgd{0},
                            .validation = &check,
                            .patience = 2,
                            .checkpoint = folder.file("run")};
    EXPECT_EQ(train(graph, Local{}, data, options).rounds, 3u);
    options.resume = options.checkpoint;
    EXPECT_EQ(train(graph, Local{}, data, options).rounds, 3u);
    options.patience = 4;
    EXPECT_EQ(train(graph, Local{}, data, options).rounds, 5u);
}

/// kill -9 at a random moment, again and again, while a process writes checkpoints: the newest
/// complete one is always there and right.
TEST(Resume, SurvivesKillingWhileWriting) {
    constexpr int kills = sanitized ? 20 : 100;
    const TemporaryFolder folder;
    const std::string path = folder.file("run");
    std::mt19937 random(1);
    std::uint64_t newest = 0;
    for (int i = 0; i < kills; ++i) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            Checkpoint checkpoint;
            for (std::uint64_t round = newest;; ++round) {
                checkpoint.counts["round"] = round;
                checkpoint.arrays["p"].assign(20'000, static_cast<float>(round % 1000));
                save_checkpoint(path, checkpoint);
            }
        }
        ::usleep(random() % 20'000);
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        if (!std::filesystem::exists(path)) continue;
        const Checkpoint checkpoint = load_checkpoint(path);
        const std::uint64_t round = checkpoint.count_at("round");
        EXPECT_GE(round, newest);
        EXPECT_EQ(checkpoint.array_at("p"),
                  std::vector<float>(20'000, static_cast<float>(round % 1000)));
        newest = round;
    }
    EXPECT_GT(newest, 0u);
}

}  // namespace
}  // namespace rondo::training::test
