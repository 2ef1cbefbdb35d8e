// Charts as SVG text: lines over message sizes, for the report.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rondo::bench {

/// One line of a chart. Colours and dashes come from the style sheet, by class.
struct Series {
    std::string name;
    std::string css_class;  ///< "s0" ... "s7", "p0" ... "p3" or "limit"
    std::vector<std::pair<double, double>> points = {};  ///< x above 0, ascending
};

struct ChartText {
    std::string id;
    std::string title;
    std::string y_unit;
    bool log_y = false;
    bool x_is_bytes = true;  ///< otherwise a number of GPUs
};

/// A figure: the picture, a legend, and a line where a script shows the values at the cursor.
/// Points carry their values, so that a reader without the script sees them too. Empty without
/// points.
std::string line_chart(const ChartText& text, const std::vector<Series>& series);

}  // namespace rondo::bench
