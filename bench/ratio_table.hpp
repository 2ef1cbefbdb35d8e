// A reporter for Google Benchmark that keeps the median of every benchmark and, at the end, prints
// the ratios that matter.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace rondo::bench {

/// One line of the table: time of `baseline` / time of `name`, so 1 is as fast and more is faster.
struct Ratio {
    std::string title;
    std::string name;
    std::string baseline;
    double target = 0;  ///< 0: for information
};

class RatioTable : public benchmark::ConsoleReporter {
public:
    explicit RatioTable(std::vector<Ratio> ratios)
        : ConsoleReporter(OO_Tabular), ratios_(std::move(ratios)) {}

    void ReportRuns(const std::vector<Run>& runs) override {
        std::vector<Run> medians;
        for (const Run& run : runs) {
            if (run.run_type == Run::RT_Iteration) {
                seconds_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
            } else if (run.aggregate_name == "median") {
                medians.push_back(run);
            }
        }
        ConsoleReporter::ReportRuns(medians.empty() ? runs : medians);
    }

    void Finalize() override {
        fmt::print("\n{:<58} {:>6} {:>7}  (median of {} runs)\n", "ratio of speeds", "ratio",
                   "target", repetitions());
        for (const Ratio& ratio : ratios_) {
            const double own = median(ratio.name), baseline = median(ratio.baseline);
            if (own > 0 && baseline > 0) {
                print(ratio, baseline / own);
            }
        }
    }

private:
    static void print(const Ratio& ratio, double value) {
        if (ratio.target == 0) {
            fmt::print("{:<58} {:>6.2f}\n", ratio.title, value);
        } else {
            fmt::print("{:<58} {:>6.2f} {:>7.2f}  {}\n", ratio.title, value, ratio.target,
                       value >= ratio.target ? "met" : "missed");
        }
    }

    std::size_t repetitions() const {
        return seconds_.empty() ? 0 : seconds_.begin()->second.size();
    }

    double median(const std::string& name) {
        const auto found = seconds_.find(name);
        if (found == seconds_.end()) {
            return 0;
        }
        std::vector<double>& all = found->second;
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                         all.end());
        return all[all.size() / 2];
    }

    std::vector<Ratio> ratios_;
    std::map<std::string, std::vector<double>> seconds_;
};

}  // namespace rondo::bench
