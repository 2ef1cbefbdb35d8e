// Text in columns, as wide as they need to be.
#pragma once

#include <string>
#include <vector>

namespace rondo::tool {

enum class Align { left, right };

class Table {
public:
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell per column.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    bool empty() const { return rows_.empty(); }
    /// Lines that begin with two blanks; the titles first, unless all are empty.
    std::string text() const;

private:
    std::string line(const std::vector<std::string>& cells,
                     const std::vector<std::size_t>& widths) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// "0, 1, 2"; long lists of successive numbers become "0-71".
std::string numbers(const std::vector<int>& values);

}  // namespace rondo::tool
