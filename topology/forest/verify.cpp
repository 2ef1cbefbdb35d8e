// Checks a forest against its request in exact arithmetic, from the topology alone.
#include <algorithm>
#include <map>

#include "topology/forest/forest.hpp"
#include "topology/forest/network.hpp"
#include "topology/forest/request.hpp"

namespace rondo {
namespace {

/// Thrown at the first violation.
struct Violation {
    std::string text;
};

std::string text_of(const Rational& value) {
    return value.str();
}

class Verification {
public:
    Verification(const Topology& topology, const ForestRequest& request, const Forest& forest)
        : topology_(topology),
          request_(request),
          forest_(forest),
          demand_(forest::resolve(topology, request)),
          load_(topology.links().size(), 0) {}

    void run() {
        for (number_ = 0; number_ < forest_.trees.size(); ++number_)
            check_tree(forest_.trees[number_]);
        check_totals();
        check_roots();
        if (demand_.gpus.size() == 1) return;
        check_loads();
        check_bound();
    }

private:
    [[noreturn]] void fail(const std::string& text) const { throw Violation{text}; }
    [[noreturn]] void fail_tree(const std::string& text) const {
        throw Violation{"tree " + std::to_string(number_) + " " + text};
    }

    bool allocated(int gpu) const {
        return std::ranges::find(demand_.gpus, gpu) != demand_.gpus.end();
    }

    void check_tree(const ForestTree& tree) {
        if (tree.weight <= 0) fail_tree("has the weight " + text_of(tree.weight));
        if (!allocated(tree.root)) {
            fail_tree("is rooted at GPU " + std::to_string(tree.root) +
                      ", which is not in the allocation");
        }
        std::map<int, int> depth{{tree.root, 0}};
        int deepest = 0;
        for (const ForestEdge& edge : tree.edges) {
            check_ends(edge, depth);
            depth[edge.child] = depth[edge.parent] + 1;
            deepest = std::max(deepest, depth[edge.child]);
            check_routes(tree, edge);
        }
        for (const int gpu : demand_.gpus) {
            if (!depth.contains(gpu)) fail_tree("does not reach GPU " + std::to_string(gpu));
        }
        if (deepest != tree.depth) {
            fail_tree("says depth " + std::to_string(tree.depth) + ", has " +
                      std::to_string(deepest));
        }
    }

    void check_ends(const ForestEdge& edge, const std::map<int, int>& depth) const {
        if (!allocated(edge.child)) {
            fail_tree("goes to GPU " + std::to_string(edge.child) +
                      ", which is not in the allocation");
        }
        if (!depth.contains(edge.parent)) {
            fail_tree("goes from GPU " + std::to_string(edge.parent) + " before it gets there");
        }
        if (depth.contains(edge.child)) {
            fail_tree("reaches GPU " + std::to_string(edge.child) + " twice");
        }
    }

    void check_routes(const ForestTree& tree, const ForestEdge& edge) {
        check_direction(tree, edge.down, demand_.down, edge.parent, edge.child);
        check_direction(tree, edge.up, demand_.up, edge.child, edge.parent);
    }

    void check_direction(const ForestTree& tree, const std::vector<ForestRoute>& routes, bool used,
                         int from, int to) {
        const std::string hop =
            "from GPU " + std::to_string(from) + " to GPU " + std::to_string(to);
        if (!used && !routes.empty())
            fail_tree("has a way " + hop + " that the collective does not use");
        Rational whole = 0;
        for (const ForestRoute& route : routes) {
            if (route.share <= 0)
                fail_tree("has a way " + hop + " with share " + text_of(route.share));
            whole += route.share;
            walk(route, from, to, hop);
            const Rational load = tree.weight * route.share;
            for (const int link : route.links) load_[link] += load;
        }
        if (used && whole != 1) fail_tree("sends " + text_of(whole) + " of its data " + hop);
    }

    /// The links must lead from one GPU to the other through nodes that may pass data on.
    void walk(const ForestRoute& route, int from, int to, const std::string& hop) const {
        int at = topology_.gpu_node(from);
        for (std::size_t i = 0; i < route.links.size(); ++i) {
            const int index = route.links[i];
            if (index < 0 || index >= static_cast<int>(topology_.links().size())) {
                fail_tree("uses link " + std::to_string(index) + ", which does not exist, " + hop);
            }
            const Link& link = topology_.links()[index];
            if (link.source != at) {
                fail_tree("uses link " + std::to_string(index) + ", which does not start at " +
                          id(at) + ", " + hop);
            }
            if (!permitted(link)) {
                fail_tree("uses link " + std::to_string(index) + ", which the request forbids, " +
                          hop);
            }
            at = link.target;
            if (i + 1 < route.links.size() && !passable(at))
                fail_tree("passes through " + id(at) + " " + hop);
        }
        if (at != topology_.gpu_node(to)) fail_tree("ends at " + id(at) + " on the way " + hop);
    }

    std::string id(int node) const { return topology_.nodes()[node].id; }

    bool permitted(const Link& link) const {
        return request_.links == LinkFilter::all || link.kind == LinkKind::nvlink ||
               link.kind == LinkKind::xgmi || link.kind == LinkKind::memory;
    }

    bool passable(int node) const {
        if (topology_.nodes()[node].type != NodeType::gpu) return true;
        return request_.helpers && std::ranges::none_of(demand_.gpus, [&](int gpu) {
                   return topology_.gpu_node(gpu) == node;
               });
    }

    void check_totals() const {
        Rational sum = 0;
        int depth = 0;
        for (const ForestTree& tree : forest_.trees) {
            sum += tree.weight;
            depth = std::max(depth, tree.depth);
        }
        if (sum != forest_.throughput) {
            fail("the weights add up to " + text_of(sum) + ", not to the throughput " +
                 text_of(forest_.throughput));
        }
        if (depth != forest_.depth) {
            fail("the deepest tree has depth " + std::to_string(depth) + ", the forest says " +
                 std::to_string(forest_.depth));
        }
    }

    void check_roots() const {
        if (demand_.free_roots) return;
        std::map<int, Rational> weight;
        for (const ForestTree& tree : forest_.trees) weight[tree.root] += tree.weight;
        for (std::size_t i = 0; i < demand_.gpus.size(); ++i) {
            const Rational wanted = forest_.throughput * forest::to_rational(demand_.shares[i]) /
                                    forest::to_rational(demand_.whole);
            if (weight[demand_.gpus[i]] == wanted) continue;
            fail("GPU " + std::to_string(demand_.gpus[i]) + " is the root of " +
                 text_of(weight[demand_.gpus[i]]) + " bytes per second; its share is " +
                 text_of(wanted));
        }
    }

    void check_loads() const {
        for (std::size_t index = 0; index < load_.size(); ++index) {
            const Link& link = topology_.links()[index];
            if (load_[index] <= link.bandwidth(request_.model)) continue;
            fail("link " + std::to_string(index) + " from " + id(link.source) + " to " +
                 id(link.target) + " carries " + text_of(load_[index]) + " of " +
                 std::to_string(link.bandwidth(request_.model)) + " bytes per second");
        }
    }

    void check_bound() const {
        const Bound& bound = forest_.bound;
        if (bound.throughput != forest_.throughput) {
            fail("the bound says throughput " + text_of(bound.throughput) + ", the forest " +
                 text_of(forest_.throughput));
        }
        const Rational proven = proven_bound(topology_, request_, bound.certificate);
        if (proven != bound.proven) {
            fail("the certificate proves " + text_of(proven) + ", not " + text_of(bound.proven));
        }
        if (bound.throughput > proven) {
            fail("the throughput " + text_of(bound.throughput) + " is above the proven bound " +
                 text_of(proven));
        }
    }

    const Topology& topology_;
    const ForestRequest& request_;
    const Forest& forest_;
    forest::Demand demand_;
    std::vector<Rational> load_;
    std::size_t number_ = 0;
};

}  // namespace

std::optional<std::string> verify_forest(const Topology& topology, const ForestRequest& request,
                                         const Forest& forest) {
    try {
        Verification(topology, request, forest).run();
        return std::nullopt;
    } catch (const Violation& violation) {
        return violation.text;
    }
}

}  // namespace rondo
