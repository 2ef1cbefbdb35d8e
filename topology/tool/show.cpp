// rondo-topo show: nodes, cables and connections of a topology, as tables or as a picture.
#include <fmt/format.h>

#include <algorithm>

#include "topology/graph/names.hpp"
#include "topology/graph/units.hpp"
#include "topology/load/any_topology.hpp"
#include "topology/tool/commands.hpp"
#include "topology/tool/connections.hpp"
#include "topology/tool/picture.hpp"
#include "topology/tool/table.hpp"
#include "topology/tool/wiring.hpp"

namespace rondo::tool {
namespace {

/// Larger machines are summed up, unless everything is asked for.
constexpr int largest_in_full = 16;
constexpr std::size_t most_cables = 24;

/// Without what tells nodes of a kind apart, unless `full`.
std::string details_of(const Node& node, bool full) {
    std::vector<std::string> parts;
    if (!node.gpu.model.empty()) parts.push_back(node.gpu.model);
    if (node.gpu.compute_major > 0) {
        parts.push_back(fmt::format("sm_{}{}", node.gpu.compute_major, node.gpu.compute_minor));
    }
    if (node.gpu.memory_bytes > 0) {
        parts.push_back(fmt::format("{:.4g} GiB", gibibytes(node.gpu.memory_bytes)));
    }
    if (full && !node.gpu.bus_id.empty()) parts.push_back(node.gpu.bus_id);
    if (full && node.pci && !node.pci->bus_id.empty()) parts.push_back(node.pci->bus_id);
    if (full && node.cpu) parts.push_back(fmt::format("NUMA {}", node.cpu->numa_id));
    if (full && node.net && !node.net->name.empty()) parts.push_back(node.net->name);
    if (full && node.host != 0) parts.push_back(fmt::format("host {}", node.host));
    return fmt::format("{}", fmt::join(parts, ", "));
}

/// Nodes of one type with the same details share a line.
void print_nodes(const Topology& topology, bool full) {
    Table table({{"NODES"}, {"TYPE"}, {"DETAILS"}});
    const auto& nodes = topology.nodes();
    std::vector<bool> printed(nodes.size(), false);
    for (std::size_t first = 0; first < nodes.size(); ++first) {
        if (printed[first]) continue;
        std::vector<std::string> ids;
        for (std::size_t other = first; other < nodes.size(); ++other) {
            if (nodes[other].type != nodes[first].type ||
                details_of(nodes[other], full) != details_of(nodes[first], full)) {
                continue;
            }
            printed[other] = true;
            ids.push_back(nodes[other].id);
        }
        const std::string text = ids.size() <= 4 ? fmt::format("{}", fmt::join(ids, " "))
                                                 : fmt::format("{} {} ... {} ({})", ids[0], ids[1],
                                                               ids.back(), ids.size());
        table.add(
            {text, std::string(to_string(nodes[first].type)), details_of(nodes[first], full)});
    }
    fmt::print("{}\n", table.text());
}

/// Cables that are alike share an entry.
void print_cables(const Topology& topology, bool full) {
    Table table({{"LINKS"}, {"COUNT", Align::right}, {"BANDWIDTH, EACH WAY"}, {"BETWEEN"}});
    std::vector<Cable> rest = cables(topology);
    while (!rest.empty()) {
        const Cable kind = rest.front();
        std::vector<std::string> ends;
        for (const Cable& cable : rest) {
            if (!kind.alike(cable)) continue;
            ends.push_back(fmt::format("{}{}{}", topology.nodes()[cable.a].id,
                                       cable.both_ways ? "-" : ">", topology.nodes()[cable.b].id));
        }
        if (!full && ends.size() > most_cables) {
            const std::string more = fmt::format("and {} more", ends.size() - most_cables + 1);
            ends.resize(most_cables);
            ends.back() = more;
        }
        std::erase_if(rest, [&](const Cable& cable) { return kind.alike(cable); });
        constexpr std::size_t per_line = 6;
        for (std::size_t at = 0; at < ends.size(); at += per_line) {
            const auto end = ends.begin() + std::min(at + per_line, ends.size());
            const std::string between = fmt::format("{}", fmt::join(ends.begin() + at, end, "  "));
            if (at > 0) {
                table.add({"", "", "", between});
                continue;
            }
            table.add({std::string(to_string(kind.kind)), fmt::format("x{}", kind.count),
                       bandwidth_text(kind) + (kind.both_ways ? "" : ", one way"), between});
        }
    }
    if (!table.empty()) fmt::print("{}\n", table.text());
}

/// The one word that holds for every pair, if there is one.
std::string common_word(const std::vector<std::vector<std::string>>& cells) {
    std::string word;
    for (std::size_t from = 0; from < cells.size(); ++from) {
        for (std::size_t to = 0; to < cells.size(); ++to) {
            if (from == to) continue;
            if (!word.empty() && word != cells[from][to]) return "";
            word = cells[from][to];
        }
    }
    return word;
}

void print_matrix(const Topology& topology, bool full) {
    const auto cells = connections(topology);
    const int gpus = topology.gpu_count();
    if (gpus < 2) return;
    const std::string word = common_word(cells);
    if (!full) {
        if (word.empty()) {
            fmt::print("  How {} GPUs are connected is a large table: --all prints it.\n", gpus);
        } else {
            fmt::print("  Every pair of GPUs is connected by {}.\n", word);
        }
        return;
    }
    std::vector<Table::Column> columns{{"CONNECTED BY"}};
    for (int gpu = 0; gpu < gpus; ++gpu) columns.push_back({fmt::format("{}", gpu), Align::right});
    Table table(std::move(columns));
    for (int gpu = 0; gpu < gpus; ++gpu) {
        std::vector<std::string> row{topology.nodes()[topology.gpu_node(gpu)].id};
        row.insert(row.end(), cells[gpu].begin(), cells[gpu].end());
        table.add(std::move(row));
    }
    fmt::print(
        "{}\n  NV2 = two NVLinks (also through NVSwitches), PIX = one PCI switch, PXB = several,\n"
        "  PHB = a CPU's PCI root, SYS = from socket to socket, NET = network, - = not at all\n",
        table.text());
}

}  // namespace

void print_tables(const Topology& topology, bool all) {
    const bool full = all || topology.gpu_count() <= largest_in_full;
    fmt::print("{}: {} GPU{}\n", topology.name(), topology.gpu_count(),
               topology.gpu_count() == 1 ? "" : "s");
    if (!topology.description().empty()) fmt::print("{}\n", topology.description());
    if (!topology.pci_peer_access()) fmt::print("No peer access over PCI Express.\n");
    if (!topology.no_peer_access().empty()) {
        fmt::print("No peer access between {} pairs of GPUs that are wired together.\n",
                   topology.no_peer_access().size());
    }
    fmt::print("\n");
    print_nodes(topology, full);
    print_cables(topology, full);
    print_matrix(topology, full);
}

void show(const ShowOptions& options) {
    const Topology topology = load_any_topology(options.topology);
    if (!options.svg_file.empty()) write_file(options.svg_file, picture(topology));
    if (options.svg_file == "-") return;
    print_tables(topology, options.all);
    if (!options.svg_file.empty()) fmt::print("\nPicture: {}\n", options.svg_file);
}

}  // namespace rondo::tool
