// Tables from CSV files.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "rondo/training/data.hpp"
#include "training/data/read_file.hpp"

namespace rondo::training {
namespace {

struct CsvLine {
    std::size_t number = 0;  ///< from 1
    std::vector<std::string> fields;
};

/// Cuts a text into lines of fields.
class CsvCutter {
public:
    CsvCutter(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

    std::vector<CsvLine> cut() {
        std::vector<CsvLine> lines;
        while (at_ < text_.size()) {
            CsvLine line{.number = number_, .fields = {}};
            bool more = true;
            while (more) {
                line.fields.push_back(field());
                more = at_ < text_.size() && text_[at_] == delimiter_;
                if (more) ++at_;
            }
            end_line();
            if (line.fields.size() > 1 || !line.fields[0].empty()) lines.push_back(std::move(line));
        }
        return lines;
    }

private:
    bool at_end_of_line() const {
        return at_ == text_.size() || text_[at_] == '\n' ||
               (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
    }

    std::string field() {
        skip_blanks();
        if (at_ < text_.size() && text_[at_] == '"') return quoted();
        const std::size_t begin = at_;
        while (!at_end_of_line() && text_[at_] != delimiter_) ++at_;
        std::string_view value = text_.substr(begin, at_ - begin);
        while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) {
            value.remove_suffix(1);
        }
        return std::string(value);
    }

    std::string quoted() {
        const std::size_t first_line = number_;
        std::string value;
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '"') {
                if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') {
                    ++at_;
                    skip_blanks();
                    if (!at_end_of_line() && text_[at_] != delimiter_) {
                        throw InvalidArgument(fmt::format(
                            "line {}: there is something behind a closing quote", number_));
                    }
                    return value;
                }
                ++at_;
            }
            if (text_[at_] == '\n') ++number_;
            value += text_[at_];
        }
        throw InvalidArgument(fmt::format("line {}: a quote is not closed", first_line));
    }

    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t') &&
               text_[at_] != delimiter_) {
            ++at_;
        }
    }

    void end_line() {
        if (at_ < text_.size() && text_[at_] == '\r') ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++at_;
        ++number_;
    }

    std::string_view text_;
    char delimiter_;
    std::size_t at_ = 0;
    std::size_t number_ = 1;
};

/// The whole text as a finite number.
std::optional<double> parse_exact(const std::string& text) {
    std::string_view rest = text;
    if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || end != rest.data() + rest.size() || !std::isfinite(value) ||
        !std::isfinite(static_cast<float>(value))) {
        return std::nullopt;
    }
    return value;
}

std::optional<float> parse_number(const std::string& text) {
    const std::optional<double> value = parse_exact(text);
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
}

/// What people write where a number is missing.
bool is_no_value(const std::string& text) {
    std::string small;
    for (const char c : text)
        small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    static constexpr std::array<std::string_view, 12> words{
        "", "nan", "-nan", "na", "n/a", "null", "none", "?", "inf", "-inf", "+inf", "infinity"};
    return std::ranges::find(words, small) != words.end();
}

std::size_t find_target(const CsvOptions& options, const CsvLine& first, bool header) {
    const std::size_t columns = first.fields.size();
    if (options.target.empty()) return columns - 1;
    if (header) {
        const auto found = std::ranges::find(first.fields, options.target);
        if (found != first.fields.end()) {
            return static_cast<std::size_t>(found - first.fields.begin());
        }
    }
    std::size_t index = 0;
    const char* const end = options.target.data() + options.target.size();
    const auto [rest, error] = std::from_chars(options.target.data(), end, index);
    if (error == std::errc() && rest == end && index < columns) return index;
    throw InvalidArgument(
        fmt::format("there is no target column '{}' among {} columns{}", options.target, columns,
                    header ? "" : " (the file has no header, so name it by its number from 0)"));
}

/// Names such as 0,1,2: different whole numbers. Otherwise it is a sample with a rare class.
bool could_be_numbered_names(const CsvLine& line, std::size_t target) {
    std::set<double> names;
    for (std::size_t c = 0; c < line.fields.size(); ++c) {
        if (c == target) continue;
        const std::optional<double> value = parse_exact(line.fields[c]);
        if (!value || *value != std::trunc(*value) || !names.insert(*value).second) return false;
    }
    return true;
}

/// Whether the first line holds names. The target may be a text in any case, and a value that is
/// missing is no name.
bool has_header(const CsvOptions& options, std::span<const CsvLine> lines) {
    if (options.header != CsvHeader::automatic) return options.header == CsvHeader::present;
    const CsvLine& first = lines[0];
    if (!options.target.empty() &&
        std::ranges::find(first.fields, options.target) != first.fields.end() &&
        !parse_exact(options.target)) {
        return true;
    }
    const std::size_t target = find_target(options, first, true);
    for (std::size_t c = 0; c < first.fields.size(); ++c) {
        const std::string& name = first.fields[c];
        if (c != target && !parse_exact(name) && !is_no_value(name)) return true;
    }
    return lines.size() > 1 && !is_no_value(first.fields[target]) &&
           !parse_exact(first.fields[target]) && could_be_numbered_names(first, target) &&
           std::ranges::all_of(lines.subspan(1), [&](const CsvLine& line) {
               return parse_exact(line.fields[target]).has_value();
           });
}

/// The targets of a text, for the question what they are.
class TargetColumn {
public:
    TargetColumn(std::span<const CsvLine> lines, std::size_t target)
        : lines_(lines), target_(target) {
        for (const CsvLine& line : lines) {
            const std::string& text = line.fields[target];
            const std::optional<double> value = parse_exact(text);
            if (value) {
                ++numbers_;
                values_.insert(*value);
                whole_ = whole_ && *value == std::trunc(*value);
            } else if (!is_no_value(text)) {
                ++texts_;
            }
        }
    }

    /// Texts, or few different whole numbers. Numbers with a point in them are no classes.
    bool looks_like_classes() const {
        const std::size_t enough = std::clamp<std::size_t>(lines_.size() / 10, 20, 100);
        return whole_ && (texts_ > 0 || values_.size() <= enough);
    }

    /// Sorted as numbers if all of them are, otherwise as texts; 1 and 1.0 are one number.
    std::vector<std::string> classes() const {
        const bool numeric = texts_ == 0 && numbers_ > 0;
        std::map<double, std::string> by_number;
        std::set<std::string> by_text;
        for (const CsvLine& line : lines_) {
            const std::string& text = line.fields[target_];
            const std::optional<double> value = parse_exact(text);
            if (text.empty() || (numeric && !value)) {
                throw InvalidArgument(fmt::format("line {}, column {}: '{}' is no class",
                                                  line.number, target_, text));
            }
            if (numeric) by_number.try_emplace(*value, text);
            by_text.insert(text);
        }
        if (!numeric) return {by_text.begin(), by_text.end()};
        std::vector<std::string> names;
        for (const auto& [number, name] : by_number) names.push_back(name);
        return names;
    }

private:
    std::span<const CsvLine> lines_;
    std::size_t target_;
    std::set<double> values_;
    std::size_t numbers_ = 0;
    std::size_t texts_ = 0;
    bool whole_ = true;
};

/// Class numbers by the text of a target.
class ClassNumbers {
public:
    explicit ClassNumbers(const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            const float number = static_cast<float>(by_text_.size());
            by_text_.emplace(name, number);
            if (const auto value = parse_exact(name)) by_number_.emplace(*value, number);
        }
    }
    float at(const std::string& text) const {
        const auto found = by_text_.find(text);
        return found != by_text_.end() ? found->second : by_number_.at(*parse_exact(text));
    }

private:
    std::map<std::string, float> by_text_;
    std::map<double, float> by_number_;
};

float number_at(const CsvLine& line, std::size_t column) {
    const std::string& field = line.fields[column];
    if (field.empty()) {
        throw InvalidArgument(
            fmt::format("line {}, column {}: the value is missing", line.number, column));
    }
    const std::optional<float> value = parse_number(field);
    if (!value) {
        throw InvalidArgument(fmt::format("line {}, column {}: '{}' is not a finite number",
                                          line.number, column, field.substr(0, 40)));
    }
    return *value;
}

void require_rectangle(std::span<const CsvLine> lines) {
    for (const CsvLine& line : lines) {
        if (line.fields.size() != lines[0].fields.size()) {
            throw InvalidArgument(fmt::format("line {} has {} fields, line {} has {}", line.number,
                                              line.fields.size(), lines[0].number,
                                              lines[0].fields.size()));
        }
    }
}

}  // namespace

Table read_csv(std::string_view text, const CsvOptions& options) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte-order mark
    const std::vector<CsvLine> all = CsvCutter(text, options.delimiter).cut();
    if (all.empty()) throw InvalidArgument("the CSV text has no lines");
    require_rectangle(all);
    if (all[0].fields.size() < 2) {
        throw InvalidArgument(
            fmt::format("line {} has one field; a sample needs a feature and a "
                        "target (is '{}' the right delimiter?)",
                        all[0].number, options.delimiter));
    }
    const bool header = has_header(options, all);
    const std::size_t target = find_target(options, all[0], header);
    const std::span<const CsvLine> lines = std::span(all).subspan(header ? 1 : 0);
    if (lines.empty()) throw InvalidArgument("the CSV text has a header and no samples");
    const TargetColumn targets(lines, target);
    const bool classes = options.task == CsvTask::classification ||
                         (options.task == CsvTask::automatic && targets.looks_like_classes());

    const std::size_t features = all[0].fields.size() - 1;
    const std::vector<std::string> class_names =
        classes ? targets.classes() : std::vector<std::string>();
    const ClassNumbers class_numbers(class_names);
    Table table(features, 1, class_names.size());
    table.class_names = class_names;
    for (std::size_t c = 0; header && c <= features; ++c) {
        if (c != target) table.feature_names.push_back(all[0].fields[c]);
    }
    std::vector<float> values(features);
    for (const CsvLine& line : lines) {
        for (std::size_t c = 0, f = 0; c <= features; ++c) {
            if (c != target) values[f++] = number_at(line, c);
        }
        const float goal =
            classes ? class_numbers.at(line.fields[target]) : number_at(line, target);
        table.add(values, std::span(&goal, 1));
    }
    return table;
}

Table load_csv(const std::string& path, const CsvOptions& options) {
    const std::string text = read_file(path);
    try {
        return read_csv(text, options);
    } catch (const InvalidArgument& error) {
        throw InvalidArgument(fmt::format("{}: {}", path, error.what()));
    }
}

}  // namespace rondo::training
