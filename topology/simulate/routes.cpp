// Shortest ways, spread over what lies in parallel, and the ways that a forest was computed for.
#include "topology/simulate/routes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "topology/forest/forest.hpp"

namespace rondo {
namespace {

using simulation::PathKind;

/// Ways in parallel that are told apart; more of them would not change a rate.
constexpr std::size_t most_routes = 32;

bool is_fabric(LinkKind kind) {
    return kind == LinkKind::nvlink || kind == LinkKind::xgmi || kind == LinkKind::memory;
}

PathKind kind_of(LinkKind kind) {
    switch (kind) {
        case LinkKind::memory:
            return PathKind::memory;
        case LinkKind::nvlink:
        case LinkKind::xgmi:
            return PathKind::fabric;
        case LinkKind::network:
            return PathKind::network;
        default:
            return PathKind::pci;
    }
}

}  // namespace

Routing::Routing(const Topology& topology, RoutingOptions options)
    : topology_(&topology), options_(std::move(options)) {
    if (options_.gpus.empty()) {
        options_.gpus.resize(static_cast<std::size_t>(topology.gpu_count()));
        std::iota(options_.gpus.begin(), options_.gpus.end(), 0);
    }
    for (const int gpu : options_.gpus) {
        if (gpu < 0 || gpu >= topology.gpu_count()) {
            throw TopologyError(fmt::format("GPU {} does not exist; {} has {} GPUs", gpu,
                                            topology.name(), topology.gpu_count()));
        }
        if (std::ranges::count(options_.gpus, gpu) > 1) {
            throw TopologyError(fmt::format("GPU {} is named twice", gpu));
        }
    }
    outgoing_.resize(topology.nodes().size());
    for (std::size_t i = 0; i < topology.links().size(); ++i) {
        const Link& link = topology.links()[i];
        if (link.bandwidth(options_.model) > 0) {
            outgoing_[static_cast<std::size_t>(link.source)].push_back(static_cast<int>(i));
        }
    }
    paths_.resize(options_.gpus.size() * options_.gpus.size());
}

Routing::Routing(const Routing& other)
    : topology_(other.topology_), options_(other.options_), outgoing_(other.outgoing_) {
    const std::lock_guard lock(other.mutex_);
    paths_ = other.paths_;
}

const Path* Routing::path(std::uint32_t from, std::uint32_t to) const {
    std::shared_ptr<const Path>& known = paths_[from * options_.gpus.size() + to];
    std::unique_lock lock(mutex_);
    if (known == nullptr) {
        lock.unlock();
        auto found = std::make_shared<const Path>(find(from, to));
        lock.lock();
        if (known == nullptr) known = std::move(found);
    }
    return known->routes.empty() ? nullptr : known.get();
}

double Routing::bandwidth(std::uint32_t from, std::uint32_t to) const {
    const Path* const way = path(from, to);
    if (way == nullptr) return 0;
    std::map<int, double> load;
    for (const Route& route : way->routes) {
        for (const int link : route.links) load[link] += route.share;
    }
    double rate = 1e18;
    for (const auto& [link, share] : load) {
        const Link& used = topology_->links()[static_cast<std::size_t>(link)];
        rate = std::min(rate, static_cast<double>(used.bandwidth(options_.model)) / share);
    }
    return rate;
}

bool Routing::joins_all() const {
    for (std::uint32_t from = 0; from < ranks(); ++from) {
        for (std::uint32_t to = 0; to < ranks(); ++to) {
            if (from != to && path(from, to) == nullptr) return false;
        }
    }
    return true;
}

Path Routing::find(std::uint32_t from, std::uint32_t to) const {
    const int source = topology_->gpu_node(options_.gpus[from]);
    const int target = topology_->gpu_node(options_.gpus[to]);
    Path path{.routes = spread(source, target, true)};
    if (path.routes.empty() && !options_.fabric_only) {
        path.routes = spread(source, target, false);
    }
    classify(path);
    return path;
}

/// Takes the widest of the shortest ways as long as there is one with something left.
std::vector<Route> Routing::spread(int from, int to, bool fabric_only) const {
    const auto& links = topology_->links();
    const auto& nodes = topology_->nodes();
    const auto usable = [&](int link) {
        return !fabric_only || is_fabric(links[static_cast<std::size_t>(link)].kind);
    };
    std::vector<int> distance(nodes.size(), -1);
    std::vector<int> order{from};
    distance[static_cast<std::size_t>(from)] = 0;
    for (std::size_t next = 0; next < order.size(); ++next) {
        const int node = order[next];
        if (node == to ||
            (node != from && nodes[static_cast<std::size_t>(node)].type == NodeType::gpu)) {
            continue;
        }
        for (const int link : outgoing_[static_cast<std::size_t>(node)]) {
            const int target = links[static_cast<std::size_t>(link)].target;
            if (usable(link) && distance[static_cast<std::size_t>(target)] < 0) {
                distance[static_cast<std::size_t>(target)] =
                    distance[static_cast<std::size_t>(node)] + 1;
                order.push_back(target);
            }
        }
    }
    std::vector<Route> routes;
    if (distance[static_cast<std::size_t>(to)] < 0) return routes;
    std::map<int, double> used;
    double total = 0;
    while (routes.size() < most_routes) {
        std::vector<double> width(nodes.size(), 0);
        std::vector<int> by(nodes.size(), -1);
        width[static_cast<std::size_t>(from)] = 1e18;
        for (const int node : order) {
            if (width[static_cast<std::size_t>(node)] <= 0 || node == to ||
                (node != from && nodes[static_cast<std::size_t>(node)].type == NodeType::gpu)) {
                continue;
            }
            for (const int link : outgoing_[static_cast<std::size_t>(node)]) {
                const Link& way = links[static_cast<std::size_t>(link)];
                const auto target = static_cast<std::size_t>(way.target);
                if (!usable(link) ||
                    distance[target] != distance[static_cast<std::size_t>(node)] + 1) {
                    continue;
                }
                const auto taken = used.find(link);
                const double left = static_cast<double>(way.bandwidth(options_.model)) -
                                    (taken == used.end() ? 0 : taken->second);
                const double through = std::min(width[static_cast<std::size_t>(node)], left);
                if (through > width[target]) {
                    width[target] = through;
                    by[target] = link;
                }
            }
        }
        const double widest = width[static_cast<std::size_t>(to)];
        if (widest <= 0) break;
        Route route{.share = widest};
        for (int node = to; node != from;) {
            const int link = by[static_cast<std::size_t>(node)];
            route.links.push_back(link);
            used[link] += widest;
            node = links[static_cast<std::size_t>(link)].source;
        }
        std::ranges::reverse(route.links);
        routes.push_back(std::move(route));
        total += widest;
    }
    for (Route& route : routes) route.share /= total;
    return routes;
}

void Routing::classify(Path& path) const {
    path.kind = PathKind::memory;
    path.given_latency = 0;
    for (const Route& route : path.routes) {
        double given = 0;
        for (const int link : route.links) {
            const Link& used = topology_->links()[static_cast<std::size_t>(link)];
            path.kind = std::max(path.kind, kind_of(used.kind));
            given += used.latency_us.value_or(0) * 1e-6;
        }
        path.given_latency = std::max(path.given_latency, given);
    }
}

void Routing::use(const Forest& forest) {
    const auto rank_of = [&](int gpu) {
        return static_cast<std::size_t>(std::ranges::find(options_.gpus, gpu) -
                                        options_.gpus.begin());
    };
    std::map<std::pair<std::size_t, std::size_t>, std::map<std::vector<int>, double>> traffic;
    for (const ForestTree& tree : forest.trees) {
        const double weight = tree.weight.convert_to<double>();
        for (const ForestEdge& edge : tree.edges) {
            const std::size_t parent = rank_of(edge.parent);
            const std::size_t child = rank_of(edge.child);
            for (const ForestRoute& route : edge.down) {
                traffic[{parent, child}][route.links] += weight * route.share.convert_to<double>();
            }
            for (const ForestRoute& route : edge.up) {
                traffic[{child, parent}][route.links] += weight * route.share.convert_to<double>();
            }
        }
    }
    for (const auto& [ends, routes] : traffic) {
        Path path;
        double total = 0;
        for (const auto& [links, weight] : routes) total += weight;
        for (const auto& [links, weight] : routes) path.routes.push_back({weight / total, links});
        classify(path);
        paths_[ends.first * options_.gpus.size() + ends.second] =
            std::make_shared<const Path>(std::move(path));
    }
}

}  // namespace rondo
