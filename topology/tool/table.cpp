// Text in columns, as wide as they need to be.
#include "topology/tool/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::tool {
namespace {

/// Columns on a terminal: bytes that begin a character.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

}  // namespace

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths) const {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
        const std::string blanks(widths[column] - width_of(cells[column]), ' ');
        const bool right = columns_[column].align == Align::right;
        line += "  " + (right ? blanks + cells[column] : cells[column] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string Table::text() const {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        widths.push_back(width_of(titles[column]));
        for (const auto& row : rows_) {
            widths.back() = std::max(widths.back(), width_of(row[column]));
        }
    }
    const bool titled = std::ranges::any_of(titles, [](const auto& title) { return title != ""; });
    std::string text = titled ? line(titles, widths) : "";
    for (const auto& row : rows_) text += line(row, widths);
    return text;
}

std::string numbers(const std::vector<int>& values) {
    std::string text;
    for (std::size_t first = 0; first < values.size();) {
        std::size_t last = first;
        while (last + 1 < values.size() && values[last + 1] == values[last] + 1) ++last;
        if (last < first + 2) last = first;
        if (!text.empty()) text += ", ";
        text += last == first ? fmt::format("{}", values[first])
                              : fmt::format("{}-{}", values[first], values[last]);
        first = last + 1;
    }
    return text;
}

}  // namespace rondo::tool
