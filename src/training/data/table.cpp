// Tables: adding, selecting, splitting, scaling.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rondo/training/data.hpp"
#include "training/data/random.hpp"

namespace rondo::training {
namespace {

void require_finite(std::span<const float> values, const char* what, std::size_t sample) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) {
            throw InvalidArgument(
                fmt::format("{} {} of sample {} is {}", what, i, sample, values[i]));
        }
    }
}

}  // namespace

DataSource::~DataSource() = default;

Table::Table(std::size_t feature_count, std::size_t target_count, std::size_t class_count)
    : feature_count_(feature_count), target_count_(target_count), class_count_(class_count) {
    if (feature_count == 0 || target_count == 0) {
        throw InvalidArgument(fmt::format("a table can't have {} features and {} targets",
                                          feature_count, target_count));
    }
    if (class_count > 0 && target_count != 1) {
        throw InvalidArgument(fmt::format("samples of {} classes have one target, not {}",
                                          class_count, target_count));
    }
}

void Table::add(std::span<const float> features, std::span<const float> targets) {
    if (features.size() != feature_count_ || targets.size() != target_count_) {
        throw InvalidArgument(
            fmt::format("sample {} has {} features and {} targets; the table has {} and {}", size(),
                        features.size(), targets.size(), feature_count_, target_count_));
    }
    require_finite(features, "feature", size());
    require_finite(targets, "target", size());
    if (class_count_ > 0 && !(targets[0] >= 0 && targets[0] < static_cast<float>(class_count_) &&
                              targets[0] == std::trunc(targets[0]))) {
        throw InvalidArgument(fmt::format("sample {} is of class {}; there are classes 0 to {}",
                                          size(), targets[0], class_count_ - 1));
    }
    features_.insert(features_.end(), features.begin(), features.end());
    targets_.insert(targets_.end(), targets.begin(), targets.end());
}

Table select_samples(const Table& table, std::span<const std::size_t> indices) {
    Table result(table.feature_count(), table.target_count(), table.class_count());
    result.feature_names = table.feature_names;
    result.class_names = table.class_names;
    for (const std::size_t index : indices) {
        if (index >= table.size()) {
            throw InvalidArgument(
                fmt::format("there is no sample {} among {}", index, table.size()));
        }
        const Sample sample = table.sample(index);
        result.add(sample.features, sample.targets);
    }
    return result;
}

std::pair<Table, Table> split_table(const Table& table, double fraction, std::uint64_t seed) {
    if (!(fraction >= 0 && fraction < 1)) {
        throw InvalidArgument(
            fmt::format("the fraction of a split is {}; it must be 0 to below 1", fraction));
    }
    std::vector<std::size_t> order = permutation(table.size(), Random(seed, 0x5b117));
    const auto second = static_cast<std::size_t>(fraction * static_cast<double>(table.size()));
    const std::span<std::size_t> all(order);
    std::ranges::sort(all.subspan(second));
    std::ranges::sort(all.first(second));
    return {select_samples(table, all.subspan(second)), select_samples(table, all.first(second))};
}

Scaling fit_scaling(const Table& table) {
    const std::size_t features = table.feature_count();
    std::vector<double> sum(features), square(features);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const Sample sample = table.sample(i);
        for (std::size_t f = 0; f < features; ++f) sum[f] += sample.features[f];
    }
    const double count = static_cast<double>(std::max<std::size_t>(table.size(), 1));
    for (std::size_t i = 0; i < table.size(); ++i) {
        const Sample sample = table.sample(i);
        for (std::size_t f = 0; f < features; ++f) {
            const double distance = sample.features[f] - sum[f] / count;
            square[f] += distance * distance;
        }
    }
    Scaling scaling;
    for (std::size_t f = 0; f < features; ++f) {
        const double mean = sum[f] / count, deviation = std::sqrt(square[f] / count);
        // What rounding makes of a constant is no deviation.
        const double noise = count * std::abs(mean) * std::numeric_limits<double>::epsilon();
        scaling.mean.push_back(static_cast<float>(mean));
        scaling.deviation.push_back(deviation > noise ? static_cast<float>(deviation) : 0.0f);
    }
    return scaling;
}

Table scaled(const Table& table, const Scaling& scaling) {
    const std::size_t features = table.feature_count();
    if (scaling.mean.size() != features || scaling.deviation.size() != features) {
        throw InvalidArgument(
            fmt::format("a scaling of {} features can't scale {}", scaling.mean.size(), features));
    }
    Table result(features, table.target_count(), table.class_count());
    result.feature_names = table.feature_names;
    result.class_names = table.class_names;
    std::vector<float> values(features);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const Sample sample = table.sample(i);
        for (std::size_t f = 0; f < features; ++f) {
            const float deviation = scaling.deviation[f];
            values[f] = deviation > 0 ? (sample.features[f] - scaling.mean[f]) / deviation : 0;
        }
        result.add(values, sample.targets);
    }
    return result;
}

}  // namespace rondo::training
