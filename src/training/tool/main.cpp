// rondo-train: trains a model from a CSV file by a strategy from a JSON file.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "rondo/error.hpp"
#include "training/tool/options.hpp"

namespace rondo::training::tool {

bool is_virtual() {
    return RONDO_TRAIN_VIRTUAL != 0;
}

}  // namespace rondo::training::tool

namespace {

using rondo::training::tool::ToolOptions;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

constexpr const char* what_it_does =
    "Trains a model on samples from a CSV file, by a strategy: on one GPU, on replicas, as a "
    "pipeline, federated, or as a population.";

constexpr const char* examples =
    "Examples:\n"
    "  rondo-train --data digits.csv --model dense:64,32 --report digits.html\n"
    "  rondo-train --data digits.csv --strategy replicas.json --checkpoint run.ckpt\n"
    "  rondo-train --data digits.csv --strategy replicas.json --resume run.ckpt --epochs 40\n"
    "  echo '{\"strategy\": \"data_parallel\", \"num_replicas\": 4}' > replicas.json\n"
    "  VGPU_TOPOLOGY=4 rondo-train --gpu virtual ...     four virtual GPUs\n\n"
    "docs/training.md has all strategies. Exit codes: 0 done, 1 failed (the reason is on standard "
    "error), 2 wrong usage.";

void add_input(CLI::App& app, ToolOptions& options) {
    app.add_option("--data", options.data, "The CSV file")->required();
    app.add_option("--target", options.target,
                   "The column to learn: its name, or its number from 0; default: the last");
    app.add_option("--task", options.task, "automatic, classification or regression")
        ->check(CLI::IsMember({"automatic", "classification", "regression"}))
        ->capture_default_str();
    app.add_option("--delimiter", options.delimiter, "Between fields; \\t is a tabulator")
        ->capture_default_str();
    app.add_option("--header", options.header, "Whether the first line has names of columns")
        ->check(CLI::IsMember({"automatic", "present", "absent"}))
        ->capture_default_str();
    app.add_option("--validation", options.validation,
                   "Share of the samples that is kept to judge by")
        ->capture_default_str();
    app.add_flag("--raw", options.raw,
                 "Don't scale features, and numbers to learn, to mean 0 and deviation 1");
}

void add_training(CLI::App& app, ToolOptions& options) {
    app.add_option("--model", options.model, "linear, or dense: with the widths of its layers")
        ->capture_default_str();
    app.add_option("--activation", options.activation, "tanh, relu or sigmoid")
        ->capture_default_str();
    app.add_option("--strategy", options.strategy, "A JSON file; default: local");
    app.add_option("--optimizer", options.optimizer, "sgd or adam, with settings")
        ->capture_default_str();
    app.add_option("--epochs", options.epochs, "Of local, replicas and pipelines")
        ->capture_default_str();
    app.add_option("--local-epochs", options.local_epochs, "Of a client's round or a generation")
        ->capture_default_str();
    app.add_option("--batch", options.batch_size, "Samples per step")->capture_default_str();
    app.add_option("--seed", options.seed, "Everything random comes from it")
        ->capture_default_str();
    app.add_flag("--no-shuffle", options.no_shuffle,
                 "Samples in the same order in every epoch, dealt to clients in turn");
    app.add_option("--patience", options.patience,
                   "End after so many rounds without a better validation loss; 0: never");
    app.add_option("--gpu", options.gpu, "virtual: GPUs that this program makes itself; default")
        ->check(CLI::IsMember({"virtual", "default"}));
    app.add_option("--devices", options.devices, "Use the first so many; 0: all");
}

void add_output(CLI::App& app, ToolOptions& options) {
    app.add_option("--checkpoint", options.checkpoint, "Write the state here after every round");
    app.add_option("--resume", options.resume, "Go on from this checkpoint");
    app.add_option("--report", options.report, "Write an HTML report");
    app.add_option("--timeline", options.timeline, "Write a Chrome trace of all steps");
    app.add_option("--evolution", options.evolution, "Write the log of a population");
    app.add_option("--parameters", options.parameters, "Write what was learned, as JSON");
    app.add_flag("--quiet", options.quiet, "No progress bar");
}

/// The program beside this one that contains virtual GPUs takes over.
void become_virtual(char** argv) {
    const auto own = std::filesystem::read_symlink("/proc/self/exe");
    const std::string other = (own.parent_path() / "rondo-train-vgpu").string();
    ::execv(other.c_str(), argv);
    throw rondo::Error("virtual GPUs are in the program " + other + ", which can't be started");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(what_it_does);
    app.footer(examples);
    ToolOptions options;
    add_input(app, options);
    add_training(app, options);
    add_output(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    try {
        if (options.gpu == "virtual" && !rondo::training::tool::is_virtual()) become_virtual(argv);
        rondo::training::tool::run(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "rondo-train: {}\n", error.what());
        return exit_failed;
    }
    return 0;
}
