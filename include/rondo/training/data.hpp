// Samples to learn from: the interface, a table in memory, and a reader of CSV files.
//
//     Table table = load_csv("digits.csv");                     // the last column is the target
//     auto [training, validation] = split_table(table, 0.2, 1); // every fifth sample, by chance
//     Scaling scaling = fit_scaling(training);
//     training = scaled(training, scaling);                     // mean 0, deviation 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo::training {

/// One thing to learn from. For classification there is one target: the number of the class.
struct Sample {
    std::span<const float> features;
    std::span<const float> targets;
};

/// Anything that yields samples. Several threads may ask at once.
class RONDO_API DataSource {
public:
    virtual ~DataSource();
    virtual std::size_t size() const = 0;
    virtual std::size_t feature_count() const = 0;
    virtual std::size_t target_count() const = 0;
    /// Number of classes; 0: the targets are numbers to be approximated.
    virtual std::size_t class_count() const = 0;
    /// The spans live as long as the source. `index` is below size().
    virtual Sample sample(std::size_t index) const = 0;

protected:
    DataSource() = default;
    DataSource(const DataSource&) = default;
    DataSource& operator=(const DataSource&) = default;
};

/// Samples in memory. Copyable.
class RONDO_API Table final : public DataSource {
public:
    /// No samples. Throws InvalidArgument for 0 features or targets, or several targets of classes.
    Table(std::size_t feature_count, std::size_t target_count, std::size_t class_count = 0);

    /// Throws InvalidArgument for the wrong number of features or targets, for values that are not
    /// finite, and for a class that does not exist.
    void add(std::span<const float> features, std::span<const float> targets);

    std::size_t size() const override { return targets_.size() / target_count_; }
    std::size_t feature_count() const override { return feature_count_; }
    std::size_t target_count() const override { return target_count_; }
    std::size_t class_count() const override { return class_count_; }
    Sample sample(std::size_t index) const override {
        return {std::span(features_).subspan(index * feature_count_, feature_count_),
                std::span(targets_).subspan(index * target_count_, target_count_)};
    }

    /// Names of columns and classes, where the source had any; otherwise empty.
    std::vector<std::string> feature_names;
    std::vector<std::string> class_names;

private:
    std::size_t feature_count_;
    std::size_t target_count_;
    std::size_t class_count_;
    std::vector<float> features_;
    std::vector<float> targets_;
};

enum class CsvHeader : std::uint8_t {
    automatic,  ///< there is one when a feature in the first line is no number, or when its target
                ///< is none and all others are, and its features are different whole numbers
    present,
    absent
};
enum class CsvTask : std::uint8_t {
    automatic,       ///< classes when the targets are texts, or at most 20 different whole numbers
                     ///< (100, if there are ten times as many samples)
    classification,  ///< targets are classes; their names are sorted, as numbers if they all are
    regression       ///< targets are numbers
};

struct CsvOptions {
    std::string target = {};  ///< name of the column or its number from 0; empty: the last
    char delimiter = ',';
    CsvHeader header = CsvHeader::automatic;
    CsvTask task = CsvTask::automatic;
};

/// Fields may stand in double quotes, with quotes inside doubled; empty lines are skipped; lines
/// may end in CR LF. Throws InvalidArgument that names line and column for what is no number, for a
/// line with too many or too few fields, for a missing value and for an empty file.
RONDO_API Table read_csv(std::string_view text, const CsvOptions& options = {});
/// The same from a file. Throws Error that names the file when it can't be read.
RONDO_API Table load_csv(const std::string& path, const CsvOptions& options = {});

/// The samples with these numbers, in this order.
RONDO_API Table select_samples(const Table& table, std::span<const std::size_t> indices);
/// Two tables: `fraction` of the samples, drawn by chance from the seed, are in the second; both
/// keep the order of the table. Throws InvalidArgument unless 0 <= fraction < 1.
RONDO_API std::pair<Table, Table> split_table(const Table& table, double fraction,
                                              std::uint64_t seed);

/// How features become numbers of mean 0 and deviation 1. Constant features become 0.
struct Scaling {
    std::vector<float> mean;
    std::vector<float> deviation;
};
RONDO_API Scaling fit_scaling(const Table& table);
/// Throws InvalidArgument for another number of features.
RONDO_API Table scaled(const Table& table, const Scaling& scaling);

}  // namespace rondo::training
