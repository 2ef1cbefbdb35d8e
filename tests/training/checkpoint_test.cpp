// Checkpoints: bytes there and back, damage that is noticed, runs that go on bit by bit, and
// processes that are killed while they write.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

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

/// kill -9 at a random moment, again and again, while a process writes checkpoints: the newest
/// complete one is always there and right.
TEST(Resume, SurvivesKillingWhileWriting) {
    constexpr int kills = 100;
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
