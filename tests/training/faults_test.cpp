// Workers that fail at random points: the run ends with an error that names them, never hangs, and
// can go on from its checkpoint.
#include <atomic>
#include <filesystem>
#include <random>

#include "rondo/training/checkpoint.hpp"
#include "rondo/training/coordinator.hpp"
#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/training/support.hpp"
#include "vgpu/control.hpp"

namespace rondo::training::test {
namespace {

using namespace std::chrono_literals;

/// A line whose worker fails at the n-th call of all.
class Failing : public HostModel {
public:
    explicit Failing(int calls) : calls_(calls) {}
    std::vector<ParameterInfo> parameters() const override { return {{"w", 4}}; }
    double loss_and_gradient(std::span<const float>, std::span<const Sample>,
                             std::span<float> gradient) const override {
        if (--calls_ == 0) throw std::runtime_error("the worker has died");
        std::ranges::fill(gradient, 1.0f);
        return 1;
    }
    Evaluation evaluate(std::span<const float>, std::span<const Sample>) const override {
        return {};
    }

private:
    mutable std::atomic<int> calls_;
};

TEST(Faults, AWorkerThatThrowsEndsTheRunWithItsName) {
    const Table data = synthetic::digits(64, 0.3f, 1);
    std::mt19937 random(1);
    for (int i = 0; i < 20; ++i) {
        const Failing model(1 + static_cast<int>(random() % 60));
        const std::string error = error_of<WorkerError>([&] {
            train(model, DataParallel{4}, data, {.epochs = 5, .batch_size = 16, .timeout = 20s});
        });
        expect_words(error, {"worker ", "(device ", "the worker has died"});
    }
}

TEST(Faults, ALostDeviceIsNamed) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "after a failure a rank's stream may go on while a peer makes its last write";
#endif
    const Table data = synthetic::digits(64, 0.3f, 1);
    const Graph graph = dense_network(std::vector<std::uint32_t>{12}, 10);
    const ModelParallel pipeline{
        .partitions = {{{"dense0"}, 0}, {{"activation0"}, 1}, {{"dense1"}, 2}}, .micro_batches = 2};
    std::mt19937 random(2);
    const rondo::testing::TemporaryFolder folder;
    const std::string path = folder.file("checkpoint");
    for (const TrainingStrategy& strategy :
         std::vector<TrainingStrategy>{DataParallel{3}, pipeline}) {
        for (int i = 0; i < 4; ++i) {
            vgpu::reset();
            std::filesystem::remove(path);
            TrainingOptions options{
                .epochs = 8, .batch_size = 16, .checkpoint = path, .timeout = 20s};
            const std::uint64_t when = 1 + random() % 6;
            options.on_progress = [&](const Progress& progress) {
                if (progress.round == when) vgpu::lose_device(1);
                return true;
            };
            const std::string error =
                error_of<Error>([&] { train(graph, strategy, data, options); });
            EXPECT_TRUE(error.find("device 1") != error.npos ||
                        error.find("cudaSetDevice(1)") != error.npos)
                << error;
            // The rest, on healthy devices, is what an undisturbed run has.
            vgpu::clear_faults();
            vgpu::reset();
            options.on_progress = {};
            options.checkpoint = "";
            const auto undisturbed = train(graph, strategy, data, options).parameters;
            if (std::filesystem::exists(path)) options.resume = path;
            EXPECT_EQ(train(graph, strategy, data, options).parameters, undisturbed);
        }
    }
}

TEST(Faults, AStoppedKernelIsATimeoutThatNamesTheRank) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "after a failure a rank's stream may go on while a peer makes its last write";
#endif
    const Table data = synthetic::digits(64, 0.3f, 1);
    const Graph graph = dense_network(std::vector<std::uint32_t>{12}, 10);
    for (const std::uint64_t nth : {0u, 7u}) {
        vgpu::reset();
        TrainingOptions options{.epochs = 20, .batch_size = 16, .timeout = 500ms};
        options.on_progress = [&](const Progress& progress) {
            if (progress.round == 1)
                vgpu::kill_block({.kernel = "program_kernel", .device = 2}, nth);
            return true;
        };
        try {
            train(graph, DataParallel{4}, data, options);
            EXPECT_GT(nth, 3u);
        } catch (const Error& error) {
            expect_words(error.what(), {"rank 2"});
        }
        vgpu::clear_faults();
    }
    vgpu::reset();
}

TEST(Options, EveryBadOneIsNamed) {
    const Table data = synthetic::digits(20, 0.3f, 1), none(64, 1, 10), other(3, 1, 10);
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 10);
    const auto error = [&](const TrainingOptions& options) {
        return error_of<InvalidArgument>([&] { train(graph, Local{}, data, options); });
    };
    expect_words(error({.batch_size = 0}), {"batch size"});
    expect_words(error({.optimizer = Sgd{-1}}), {"learning rate is -1"});
    expect_words(error({.devices = {99}}), {"device 99"});
    expect_words(error({.validation = &none}), {"no samples in the validation"});
    expect_words(error({.validation = &other}), {"3 features"});
    expect_words(error({.accumulation = 0}), {"accumulation"});
    expect_words(error({.patience = 3}), {"patience"});
    expect_words(error({.timeout = -1s}), {"timeout"});
    expect_words(error_of<InvalidArgument>([&] { train(graph, Local{}, none); }), {"no samples"});
    expect_words(error_of<InvalidArgument>([&] { train(graph, DataParallel{9}, data); }),
                 {"needs 9 devices", "there are 8"});
    expect_words(error_of<InvalidArgument>([&] { train(Graph(), Local{}, data); }), {"no nodes"});
    expect_words(error_of<InvalidArgument>(
                     [&] { train(dense_network(std::vector<std::uint32_t>{}, 3), Local{}, data); }),
                 {"'dense0' has 3 outputs", "10 classes"});
    expect_words(error_of<InvalidArgument>([&] { train(linear_model(1), Local{}, data); }),
                 {"squared_error", "classes"});
    expect_words(error_of<Unsupported>([&] {
                     train(Failing(1), ModelParallel{.partitions = {{{"a"}, 0}}}, data);
                 }),
                 {"model_parallel"});
}

/// A source of the user's own that says one thing and yields another.
class Liar : public DataSource {
public:
    std::size_t size() const override { return 4; }
    std::size_t feature_count() const override { return 2; }
    std::size_t target_count() const override { return 1; }
    std::size_t class_count() const override { return 3; }
    Sample sample(std::size_t) const override { return {features, targets}; }

    std::vector<float> features = {1, 2};
    std::vector<float> targets = {0};
};

TEST(Options, DataThatIsNotWhatItSays) {
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 3);
    Liar liar;
    const auto error = [&] {
        return error_of<InvalidArgument>([&] { train(graph, DataParallel{2}, liar); });
    };
    train(graph, DataParallel{2}, liar);
    liar.features = {1, 2, 3};
    expect_words(error(), {"sample ", "3 features", "says 2"});
    liar.features = {1, 2};
    for (const float target : {3.0f, -1.0f, std::nanf("")}) {
        liar.targets = {target};
        expect_words(error(), {"is of class", "0 to 2"});
    }
    liar.targets = {};
    expect_words(error(), {"0 targets"});
    // Validation data with a class that the training data has not.
    const Table data = synthetic::digits(20, 0.3f, 1), more(64, 1, 11);
    expect_words(error_of<InvalidArgument>([&] {
                     train(dense_network(std::vector<std::uint32_t>{4}, 10), Local{}, data,
                           {.validation = &more});
                 }),
                 {"validation"});
}

/// What fails between epochs is not a worker's fault.
TEST(Options, CallbacksAndFilesFailAsThemselves) {
    const Table data = synthetic::digits(20, 0.3f, 1);
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 10);
    for (const TrainingStrategy& strategy : std::vector<TrainingStrategy>{
             Local{}, DataParallel{2}, Federated{2, 2}, PopulationBased{2, 2}}) {
        TrainingOptions options{.epochs = 3};
        options.on_progress = [](const Progress&) -> bool { throw std::logic_error("mine"); };
        EXPECT_EQ(error_of<std::logic_error>([&] { train(graph, strategy, data, options); }),
                  "mine");
        bool began = false;
        options.on_progress = [&](const Progress&) { return began = true; };
        options.checkpoint = "/no/such/folder/run";
        expect_words(error_of<Error>([&] { train(graph, strategy, data, options); }),
                     {"/no/such/folder/run"});
        EXPECT_FALSE(began);
    }
}

TEST(Options, NoEpochsGiveTheStart) {
    const Table data = synthetic::digits(20, 0.3f, 1);
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 10);
    const TrainingReport report = train(graph, DataParallel{2}, data, {.epochs = 0});
    EXPECT_EQ(report.parameters, initial_parameters(graph, data, 0));
    EXPECT_EQ(report.steps, 0u);
}

TEST(Options, ALossThatIsLostIsNoted) {
    const Table data = synthetic::digits(20, 0.3f, 1);
    const Graph graph =
        dense_network(std::vector<std::uint32_t>{4}, 10, Loss::cross_entropy, Operation::relu);
    const TrainingReport report =
        train(graph, Local{}, data, {.epochs = 9, .batch_size = 5, .optimizer = Sgd{1e30}});
    ASSERT_EQ(report.notes.size(), 1u);
    expect_words(report.notes[0], {"not finite since round", "learning rate"});
}

TEST(Graph, EveryBadNodeIsNamed) {
    Graph graph;
    graph.add(dense("a", 3));
    const auto error = [&](Node node, std::string_view subgraph = Graph::root) {
        return error_of<InvalidArgument>([&] { graph.add(std::move(node), subgraph); });
    };
    expect_words(error(dense("a", 3)), {"'a' already"});
    expect_words(error(dense("", 3)), {"''"});
    expect_words(error(dense("input", 3)), {"'input'"});
    expect_words(error(dense("b", 0)), {"width of node 'b' is 0"});
    expect_words(error(dense("b", 3, {"z"})), {"'z'"});
    expect_words(error(dense("b", 3, {"a", "input"})), {"2 inputs"});
    expect_words(error({.id = "b", .operation = Operation::add}), {"1 inputs"});
    expect_words(error({.id = "b", .operation = Operation::add, .inputs = {"a", "a"}}), {"twice"});
    expect_words(error({.id = "b", .operation = Operation::relu, .width = 4}), {"4 was given"});
    expect_words(error(dense("b", 3), "nowhere"), {"'nowhere'"});
    expect_words(error_of<InvalidArgument>([&] { graph.add_subgraph(""); }), {"the graph itself"});
}

TEST(Custom, CoordinatorsAreFoundByName) {
    const Table data = synthetic::digits(40, 0.3f, 1);
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 10);
    CoordinatorRegistry registry;
    registry.add("twice", [](const CoordinatorContext& context) {
        LocalTrainer trainer(context.model, context.data, context.devices[0], context.options);
        const std::vector<std::size_t> all{0, 1, 2, 3, 4, 5, 6, 7};
        TrainingReport report;
        trainer.train_epoch(all, 0);
        trainer.train_epoch(all, 1);
        report.parameters = trainer.parameters();
        report.steps = trainer.steps();
        report.ended_because = context.config;
        return report;
    });
    registry.add("other", [](const CoordinatorContext&) { return TrainingReport(); });
    const TrainingOptions options{.batch_size = 4, .coordinators = &registry};
    const TrainingReport report = train(graph, Custom{"twice", R"({"a":1})"}, data, options);
    EXPECT_EQ(report.steps, 4u);
    EXPECT_EQ(report.ended_because, R"({"a":1})");
    EXPECT_NE(report.parameters, initial_parameters(graph, data, 0));
    expect_words(error_of<InvalidArgument>([&] { train(graph, Custom{"mine"}, data, options); }),
                 {"'mine'", "other, twice"});
    expect_words(error_of<InvalidArgument>([&] { train(graph, Custom{"mine"}, data); }),
                 {"'mine'"});
    expect_words(error_of<InvalidArgument>([&] { registry.add("other", {}); }), {"'other'"});
}

TEST(EarlyEnd, ByPatienceAndByProgress) {
    const Table data = synthetic::digits(40, 0.3f, 1), check = synthetic::digits(40, 0.3f, 2);
    const Graph graph = dense_network(std::vector<std::uint32_t>{4}, 10);
    TrainingOptions options{.epochs = 50, .optimizer = Sgd{0}, .validation = &check, .patience = 3};
    const TrainingReport patient = train(graph, DataParallel{2}, data, options);
    EXPECT_EQ(patient.ended_because, "patience");
    EXPECT_EQ(patient.rounds, 4u);  // the first is the best, three are not better
    options.on_progress = [](const Progress& progress) { return progress.round < 2; };
    EXPECT_EQ(train(graph, Federated{2, 9}, data, options).ended_because, "on_progress");
}

TEST(TimelineOfARun, ShowsComputeAndNamesTheWorkerThatAllWaitFor) {
    const Table data = synthetic::digits(64, 0.3f, 1);
    Timeline timeline;
    train(dense_network(std::vector<std::uint32_t>{12}, 10), DataParallel{3}, data,
          {.epochs = 1, .batch_size = 16, .timeline = &timeline});
    std::size_t compute = 0, sync = 0;
    for (const TimelineSpan& span : timeline.spans()) {
        EXPECT_LE(span.begin, span.end);
        compute += span.lane == "compute";
        sync += span.lane == "sync";
    }
    EXPECT_EQ(compute, 3u * 4u);
    EXPECT_GE(sync, 3u * 4u);
    Timeline made;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
        made.add({worker, "compute", "x", 7, 0, worker == 1 ? 5.0 : worker == 0 ? 1.0 : 2.0});
        made.add({worker, "sync", "bucket 0", 7, 0.5, 1.5});
    }
    ASSERT_EQ(made.stalls(1).size(), 1u);
    EXPECT_EQ(made.stalls(1)[0].worker, 1u);
    EXPECT_EQ(made.stalls(1)[0].step, 7u);
    EXPECT_EQ(made.stalls(1)[0].seconds, 3.0);  // behind the last but one
    EXPECT_TRUE(made.stalls(5).empty());
    EXPECT_EQ(made.hidden_share(0), 0.5);
    EXPECT_EQ(made.hidden_share(1), 1.0);
}

}  // namespace
}  // namespace rondo::training::test
