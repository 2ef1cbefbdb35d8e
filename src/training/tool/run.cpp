// rondo-train's work: from files to files.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "rondo/training/chart.hpp"
#include "rondo/training/data.hpp"
#include "rondo/training/timeline.hpp"
#include "rondo/training/train.hpp"
#include "training/data/read_file.hpp"
#include "training/report/writable.hpp"
#include "training/tool/model_file.hpp"
#include "training/tool/options.hpp"

namespace rondo::training::tool {
namespace {

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

CsvHeader parse_header(const std::string& text) {
    if (text == "present") return CsvHeader::present;
    if (text == "absent") return CsvHeader::absent;
    return CsvHeader::automatic;
}

struct Tables {
    Table training;
    Table validation;
    Preparation preparation = {};
};

TargetScaling fit_targets(const Table& table) {
    const double count = static_cast<double>(table.size());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < table.size(); ++i) sum += table.sample(i).targets[0];
    for (std::size_t i = 0; i < table.size(); ++i) {
        squares += std::pow(table.sample(i).targets[0] - sum / count, 2);
    }
    const double mean = sum / count, deviation = std::sqrt(squares / count);
    // What rounding makes of a constant is no deviation.
    const double noise = count * std::abs(mean) * std::numeric_limits<double>::epsilon();
    return {mean, deviation > noise ? deviation : 1};
}

Table scale_targets(const Table& table, const TargetScaling& scaling) {
    Table result(table.feature_count(), 1);
    result.feature_names = table.feature_names;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const Sample sample = table.sample(i);
        const auto target =
            static_cast<float>((sample.targets[0] - scaling.mean) / scaling.deviation);
        result.add(sample.features, std::span(&target, 1));
    }
    return result;
}

/// Squared errors in the unit of the CSV file.
void to_own_unit(TrainingReport& report, const TargetScaling& scaling) {
    const double unit = scaling.deviation * scaling.deviation;
    if (report.validation) report.validation->loss *= unit;
    for (Curve& curve : report.curves) {
        for (CurvePoint& point : curve.points) point.loss *= unit;
    }
    if (!report.evolution) return;
    for (auto& generation : report.evolution->generations) {
        for (MemberRecord& member : generation) member.score *= unit;
    }
}

Tables load_tables(const ToolOptions& options) {
    const std::string delimiter = options.delimiter == "\\t" ? "\t" : options.delimiter;
    if (delimiter.size() != 1) {
        throw InvalidArgument(
            fmt::format("the delimiter '{}' must be one character", options.delimiter));
    }
    const Table all = load_csv(options.data, {.target = options.target,
                                              .delimiter = delimiter[0],
                                              .header = parse_header(options.header),
                                              .task = parse_task(options.task)});
    auto [training, validation] = split_table(all, options.validation, options.seed);
    if (options.raw) return {std::move(training), std::move(validation)};
    const Scaling scaling = fit_scaling(training);
    Tables tables{scaled(training, scaling), scaled(validation, scaling), {scaling}};
    if (all.class_count() > 0) return tables;
    const TargetScaling& target = tables.preparation.target = fit_targets(training);
    tables.training = scale_targets(tables.training, target);
    tables.validation = scale_targets(tables.validation, target);
    return tables;
}

std::string describe_data(const Table& table) {
    return fmt::format("{} samples, {} features, {}", table.size(), table.feature_count(),
                       table.class_count() > 0 ? fmt::format("{} classes", table.class_count())
                                               : "numbers as targets");
}

/// Of equal targets there is no variance to explain.
bool all_equal(const Table& table) {
    for (std::size_t i = 1; i < table.size(); ++i) {
        if (table.sample(i).targets[0] != table.sample(0).targets[0]) return false;
    }
    return true;
}

/// The share of the targets' variance that is explained, in %.
double explained(const TrainingReport& report, const Tables& tables) {
    const TargetScaling own = fit_targets(tables.validation);
    const double variance = std::pow(own.deviation * tables.preparation.target.deviation, 2);
    return 100 * (1 - report.validation->loss / variance);
}

void print_stalls(const Timeline& timeline) {
    std::vector<Stall> stalls = timeline.stalls(0.01);
    std::ranges::sort(stalls, std::greater<>(), &Stall::seconds);
    stalls.resize(std::min<std::size_t>(stalls.size(), 3));
    for (const Stall& stall : stalls) {
        fmt::print("all waited {:.3f} s for worker {} in step {}\n", stall.seconds, stall.worker,
                   stall.step);
    }
}

void print_summary(const TrainingReport& report, const ToolOptions& options, const Tables& tables) {
    const bool classes = tables.training.class_count() > 0;
    fmt::print("{}\n", to_string(report.strategy));
    fmt::print("{}\n", describe_data(tables.training));
    fmt::print("{} rounds, {} steps, {:.2f} s ({})\n", report.rounds, report.steps, report.seconds,
               report.ended_because);
    if (!report.timetable.empty()) {
        fmt::print("{}bubble: {:.1f} % of the work by the timetable, {:.1f} % measured\n",
                   report.timetable, 100 * report.bubble, 100 * report.measured_bubble);
    }
    for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
    if (!report.client_failures.empty()) {
        fmt::print("{} times a client failed\n", report.client_failures.size());
    }
    if (report.validation) {
        fmt::print("validation: loss {:.5g}", report.validation->loss);
        if (classes) fmt::print(", {:.2f} % right", 100 * report.validation->accuracy);
        fmt::print(" of {} samples", report.validation->samples);
        if (!classes && !all_equal(tables.validation)) {
            fmt::print(", {:.2f} % of their variance explained", explained(report, tables));
        }
        fmt::print("\n");
    }
    if (!options.report.empty()) fmt::print("report: {}\n", options.report);
}

TrainingOptions training_options(const ToolOptions& options, const Tables& tables) {
    TrainingOptions result{.epochs = options.epochs,
                           .batch_size = options.batch_size,
                           .optimizer = parse_optimizer(options.optimizer),
                           .seed = options.seed,
                           .shuffle = !options.no_shuffle,
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
    for (const std::string& file :
         {options.report, options.timeline, options.evolution, options.parameters}) {
        require_writable(file);
    }
    const Tables tables = load_tables(options);
    const Graph graph = parse_model(options, tables.training);
    const TrainingStrategy strategy =
        options.strategy.empty() ? TrainingStrategy()
                                 : training_strategy_from_json(read_file(options.strategy));
    TrainingOptions training = training_options(options, tables);
    Timeline timeline;
    if (!options.timeline.empty()) training.timeline = &timeline;
    TrainingReport report = train(graph, strategy, tables.training, training);
    to_own_unit(report, tables.preparation.target);
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
    if (!options.parameters.empty()) {
        write_file(options.parameters, model_json(report, tables.training, tables.preparation));
    }
    print_summary(report, options, tables);
    print_stalls(timeline);
}

}  // namespace rondo::training::tool
