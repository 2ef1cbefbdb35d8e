// The part of the report that shows which strategy is best at which size.
#include <algorithm>
#include <map>

#include "base/markup.hpp"
#include "bench/tool/html_part.hpp"
#include "bench/tool/text_table.hpp"

namespace rondo::bench {
namespace {

class ChoiceMapsSection : HtmlPart {
public:
    using HtmlPart::HtmlPart;

    std::string text() {
        Map measured, simulated;
        std::map<std::uint64_t, std::string> automatic;
        for (const Row& row : report_.rows) {
            if (row.asked == "automatic") automatic[row.size] = row.strategy;
        }
        const auto family = [](const std::string& name) { return name.substr(0, name.find('(')); };
        for (const Row& row : report_.rows) {
            const auto halves = halves_of(row);
            if (row.asked == "automatic" || halves.empty() || row.size == 0) continue;
            measured[row.asked].emplace(row.size,
                                        Cell{halves.back()->us.median,
                                             family(automatic[row.size]) == family(row.strategy)});
        }
        for (const Prediction& prediction : report_.predictions) {
            simulated[prediction.strategy][prediction.bytes] = {prediction.us, prediction.chosen};
        }
        if (measured.size() < 2 && simulated.size() < 2) return {};
        write(
            "<section aria-labelledby=\"choice\"><h2 id=\"choice\">Choice map</h2>\n<p "
            "class=\"soft\">Time of each strategy, as a multiple of the best at that size. What "
            "runs when none is named has a frame.</p>\n");
        choice_map("Measured here", "choice-measured", measured);
        choice_map("Simulated on " + report_.header.topology, "choice-simulated", simulated);
        write("</section>\n");
        return std::move(out_);
    }

private:
    struct Cell {
        double us = 0;
        bool chosen = false;
    };
    using Map = std::map<std::string, std::map<std::uint64_t, Cell>>;

    void choice_map(const std::string& title, const char* id, const Map& map) {
        if (map.size() < 2) return;
        std::map<std::uint64_t, double> best;
        for (const auto& [strategy, cells] : map) {
            for (const auto& [size, cell] : cells) {
                const auto [found, added] = best.emplace(size, cell.us);
                if (!added) found->second = std::min(found->second, cell.us);
            }
        }
        write(
            "<h3>{}</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"{}\"><table id=\"{}\"><thead><tr><th>strategy</th>",
            escaped_markup(title), escaped_markup(title), id);
        for (const auto& [size, us] : best)
            write("<th>{}</th>", bytes_text(static_cast<double>(size)));
        write("</tr></thead><tbody>\n");
        for (const auto& [strategy, cells] : map) {
            write("<tr><td>{}</td>", escaped_markup(strategy));
            for (const auto& [size, us] : best) {
                const auto cell = cells.find(size);
                if (cell == cells.end()) {
                    write("<td>–</td>");
                    continue;
                }
                const double ratio = cell->second.us / us;
                const int heat = ratio < 1.1   ? 0
                                 : ratio < 1.5 ? 1
                                 : ratio < 2.5 ? 2
                                 : ratio < 5   ? 3
                                               : 4;
                write("<td class=\"h{}{}\" data-us=\"{}\">{}</td>", heat,
                      cell->second.chosen ? " chosen" : "", cell->second.us, fitted(ratio, 5));
            }
            write("</tr>\n");
        }
        write("</tbody></table></div>\n");
    }
};

}  // namespace

std::string choice_maps_section(const Report& report) {
    return ChoiceMapsSection(report).text();
}

}  // namespace rondo::bench
