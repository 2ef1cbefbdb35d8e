// The lines of the report's charts.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/tool/charts.hpp"
#include "bench/tool/result.hpp"

namespace rondo::bench {

/// Lines in the order in which they are first met.
class LineSet {
public:
    /// Lines of peers look different from Rondo's own.
    void add_peer(const std::string& name, double x, double y);
    /// What is not above 0 is left out, and so is a second point of one x.
    void add(const std::string& name, double x, double y);
    /// With their classes of style; the set is empty then.
    std::vector<Series> take();

private:
    std::vector<Series> lines_;
    std::set<std::string> peers_;
};

enum class Place { out_of_place, in_place };

const std::optional<Half>& half_at(const Row& row, Place place);

/// Rondo, its peers and the limit against the size. `value` makes a y of a time in microseconds and
/// a size.
std::vector<Series> lines_of(const Report& report, Place place,
                             const std::function<double(double us, double size)>& value);

/// Simulated times, and saved logs of real machines beside them.
std::vector<Series> simulated_lines(const Report& report);

}  // namespace rondo::bench
