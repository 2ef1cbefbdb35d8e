// rondo-train's work: from files to files.
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "rondo/training/chart.hpp"
#include "rondo/training/data.hpp"
#include "rondo/training/timeline.hpp"
#include "rondo/training/train.hpp"
#include "training/tool/options.hpp"

namespace rondo::training::tool {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(fmt::format("the file {} can't be opened", path));
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw Error(fmt::format("the file {} can't be written", path));
}

CsvTask parse_task(const std::string& text) {
    if (text == "classification") return CsvTask::classification;
    if (text == "regression") return CsvTask::regression;
    return CsvTask::automatic;
}

std::uint32_t parse_width(std::string_view text, const std::string& model) {
    std::uint32_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error != std::errc() || end != text.data() + text.size() || width == 0) {
        throw InvalidArgument(fmt::format("'{}' in --model {} is no width", text, model));
    }
    return width;
}

Operation parse_activation(const std::string& text) {
    for (const Operation operation : {Operation::tanh, Operation::relu, Operation::sigmoid}) {
        if (text == to_string(operation)) return operation;
    }
    throw InvalidArgument(
        fmt::format("unknown activation '{}'; it must be tanh, relu or sigmoid", text));
}

/// "linear" or "dense:64,32".
Graph parse_model(const ToolOptions& options, const DataSource& data) {
    const bool classes = data.class_count() > 0;
    const auto outputs =
        static_cast<std::uint32_t>(classes ? data.class_count() : data.target_count());
    const Loss loss = classes ? Loss::cross_entropy : Loss::squared_error;
    if (options.model == "linear") return linear_model(outputs, loss);
    if (!options.model.starts_with("dense:")) {
        throw InvalidArgument(fmt::format(
            "unknown model '{}'; it must be linear or dense: with widths, as dense:64,32",
            options.model));
    }
    std::vector<std::uint32_t> hidden;
    std::string_view rest = std::string_view(options.model).substr(6);
    while (true) {
        const std::size_t comma = rest.find(',');
        hidden.push_back(parse_width(rest.substr(0, comma), options.model));
        if (comma == rest.npos) break;
        rest.remove_prefix(comma + 1);
    }
    return dense_network(hidden, outputs, loss, parse_activation(options.activation));
}

struct Tables {
    Table training;
    Table validation;
};

Tables load_tables(const ToolOptions& options) {
    if (options.delimiter.size() != 1) {
        throw InvalidArgument(
            fmt::format("the delimiter '{}' must be one character", options.delimiter));
    }
    const Table all = load_csv(options.data, {.target = options.target,
                                              .delimiter = options.delimiter[0],
                                              .task = parse_task(options.task)});
    auto [training, validation] = split_table(all, options.validation, options.seed);
    if (options.raw) return {std::move(training), std::move(validation)};
    const Scaling scaling = fit_scaling(training);
    return {scaled(training, scaling), scaled(validation, scaling)};
}

std::string describe_data(const Table& table) {
    return fmt::format("{} samples, {} features, {}", table.size(), table.feature_count(),
                       table.class_count() > 0 ? fmt::format("{} classes", table.class_count())
                                               : "numbers as targets");
}

void print_summary(const TrainingReport& report, const ToolOptions& options, bool classes) {
    fmt::print("{}\n", to_string(report.strategy));
    fmt::print("{} rounds, {} steps, {:.2f} s ({})\n", report.rounds, report.steps, report.seconds,
               report.ended_because);
    if (!report.timetable.empty()) fmt::print("{}", report.timetable);
    for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
    if (!report.client_failures.empty()) {
        fmt::print("{} times a client failed\n", report.client_failures.size());
    }
    if (report.validation) {
        fmt::print("validation: loss {:.5g}", report.validation->loss);
        if (classes) fmt::print(", {:.2f} % right", 100 * report.validation->accuracy);
        fmt::print(" of {} samples\n", report.validation->samples);
    }
    if (!options.report.empty()) fmt::print("report: {}\n", options.report);
}

TrainingOptions training_options(const ToolOptions& options, const Tables& tables) {
    TrainingOptions result{.epochs = options.epochs,
                           .batch_size = options.batch_size,
                           .optimizer = parse_optimizer(options.optimizer),
                           .seed = options.seed,
                           .progress_bar = !options.quiet,
                           .patience = options.patience,
                           .checkpoint = options.checkpoint,
                           .resume = options.resume};
    result.federated.local_epochs = options.local_epochs;
    result.population.epochs_per_generation = options.local_epochs;
    if (tables.validation.size() > 0) result.validation = &tables.validation;
    for (std::uint32_t device = 0; device < options.devices; ++device) {
        result.devices.push_back(static_cast<int>(device));
    }
    return result;
}

}  // namespace

void run(const ToolOptions& options) {
    const Tables tables = load_tables(options);
    const bool classes = tables.training.class_count() > 0;
    const Graph graph = parse_model(options, tables.training);
    const TrainingStrategy strategy =
        options.strategy.empty() ? TrainingStrategy()
                                 : training_strategy_from_json(read_file(options.strategy));
    TrainingOptions training = training_options(options, tables);
    Timeline timeline;
    if (!options.timeline.empty()) training.timeline = &timeline;
    const TrainingReport report = train(graph, strategy, tables.training, training);
    if (!options.report.empty()) {
        write_file(options.report,
                   html_report(report, {.title = options.data,
                                        .facts = {{"data", describe_data(tables.training)},
                                                  {"model", options.model},
                                                  {"optimiser", to_string(training.optimizer)}}}));
    }
    if (!options.timeline.empty()) write_file(options.timeline, timeline.to_chrome_trace());
    if (!options.evolution.empty() && report.evolution) {
        write_file(options.evolution, to_json(*report.evolution));
    }
    print_summary(report, options, classes);
}

}  // namespace rondo::training::tool
