// What a run looked like: curves as SVG, and a whole report as one HTML file.
//
//     std::ofstream("loss.svg") << draw_curves(report.curves, {.title = "Loss"});
//     std::ofstream("report.html") << html_report(report, {.title = "digits"});
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rondo/export.hpp"
#include "rondo/training/train.hpp"

namespace rondo::training {

struct ChartOptions {
    std::string title = {};
    std::string x_label = "round";
    bool accuracy = false;  ///< draw the accuracy instead of the loss; points without are left out
};

/// An SVG picture. The scale of a loss is logarithmic when it spans more than two powers of ten.
/// Text is escaped; what is not finite is left out.
RONDO_API std::string draw_curves(std::span<const Curve> curves, const ChartOptions& options = {});

/// Members from generation to generation: a line for every life, an arrow where one copied another.
/// Dark is good. The ancestors of the best are drawn thick.
RONDO_API std::string draw_lineage(const EvolutionLog& log);

struct HtmlReportOptions {
    std::string title = "Training";
    std::vector<std::pair<std::string, std::string>> facts = {};  ///< more lines of the table
};

/// One file without references to others: facts, curves, what failed, timetable, lineage.
RONDO_API std::string html_report(const TrainingReport& report,
                                  const HtmlReportOptions& options = {});

}  // namespace rondo::training
