// The lines of the report's charts.
#include "bench/tool/report_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace rondo::bench {
namespace {

constexpr const char* computed_bound = "bound of the wiring, computed";

/// What a line of the charts is called: the strategy, with operator and type where several ran.
std::string line_name(const Report& report, const Row& row) {
    const Row& first = report.rows.front();
    std::string name = "Rondo " + row.asked;
    if (row.asked == "automatic") name = "Rondo";
    const auto differs = [&](auto member) {
        return std::ranges::any_of(report.rows,
                                   [&](const Row& r) { return r.*member != first.*member; });
    };
    if (differs(&Row::type)) name += " " + row.type;
    if (differs(&Row::op)) name += " " + row.op;
    if (differs(&Row::root)) name += fmt::format(" root {}", row.root);
    return name;
}

/// A strategy has the same colour in every chart; where it has several lines, the others take what
/// is free.
int colour_of(const std::string& name, std::set<int>& taken) {
    constexpr const char* strategies[] = {"direct",      "ring",         "tree",
                                          "centralized", "hierarchical", "forest"};
    int colour = 0;
    for (int i = 0; i < 6; ++i) {
        if (name.find(strategies[i]) != std::string::npos) colour = i + 1;
    }
    for (int tries = 0; tries < 8 && taken.contains(colour); ++tries) colour = (colour + 1) % 8;
    taken.insert(colour);
    return colour;
}

}  // namespace

void LineSet::add_peer(const std::string& name, double x, double y) {
    peers_.insert(name);
    add(name, x, y);
}

void LineSet::add(const std::string& name, double x, double y) {
    if (!(x > 0) || !(y > 0)) return;
    auto found = std::ranges::find(lines_, name, &Series::name);
    if (found == lines_.end()) {
        lines_.push_back({name, ""});
        found = std::prev(lines_.end());
    }
    if (found->points.empty() || found->points.back().first < x) found->points.emplace_back(x, y);
}

std::vector<Series> LineSet::take() {
    std::set<int> taken;
    std::size_t peer = 0;
    for (Series& line : lines_) {
        if (line.name == "limit" || line.name == computed_bound) {
            line.css_class = "limit";
        } else if (peers_.contains(line.name)) {
            line.css_class = fmt::format("p{}", peer++ % 4);
        } else {
            line.css_class = fmt::format("s{}", colour_of(line.name, taken));
        }
    }
    return std::move(lines_);
}

const std::optional<Half>& half_at(const Row& row, Place place) {
    return place == Place::out_of_place ? row.out_of_place : row.in_place;
}

std::vector<Series> lines_of(const Report& report, Place place,
                             const std::function<double(double, double)>& value) {
    LineSet lines;
    for (const Row& row : report.rows) {
        const std::optional<Half>& half = half_at(row, place);
        if (!half) continue;
        const auto size = static_cast<double>(row.size);
        lines.add(line_name(report, row), size, value(half->us.median, size));
    }
    for (const Row& row : report.rows) {
        const std::optional<Half>& half = half_at(row, place);
        if (!half) continue;
        const auto size = static_cast<double>(row.size);
        for (const PeerTime& peer : half->peers) {
            if (peer.from_log && report.header.virtual_gpus) continue;
            lines.add_peer(peer.name, size, value(peer.us.median, size));
        }
        lines.add("limit", size, value(half->limit_us(), size));
    }
    return lines.take();
}

std::vector<Series> simulated_lines(const Report& report) {
    LineSet lines;
    for (const Row& row : report.rows) {
        lines.add(line_name(report, row) + ", simulated", static_cast<double>(row.size),
                  row.simulated_us);
    }
    for (const Row& row : report.rows) {
        lines.add(computed_bound, static_cast<double>(row.size), row.bound_us);
        for (const Half* half : halves_of(row)) {
            for (const PeerTime& peer : half->peers) {
                if (peer.from_log) {
                    lines.add_peer(peer.name + ", measured there", static_cast<double>(row.size),
                                   peer.us.median);
                }
            }
        }
    }
    return lines.take();
}

}  // namespace rondo::bench
