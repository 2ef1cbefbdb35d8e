// What every topology must satisfy, whatever it was read from.
#include "topology/graph/validate.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "topology/graph/detail_fields.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/names.hpp"

namespace rondo {
namespace {

using Limits = TopologyLimits;

template <class Value, class Bound>
std::string out_of_range(std::string_view what, Value value, Bound low, Bound high) {
    return "the " + std::string(what) + " is " + std::to_string(value) + "; it must be between " +
           std::to_string(low) + " and " + std::to_string(high);
}

void check_sizes(const std::vector<Node>& nodes, const std::vector<Link>& links) {
    const auto gpus = std::ranges::count(nodes, NodeType::gpu, &Node::type);
    if (gpus == 0) throw TopologyError("there is no gpu");
    if (gpus > Limits::gpus) {
        throw TopologyError(out_of_range("number of gpus", gpus, 1, Limits::gpus));
    }
    if (nodes.size() > Limits::nodes) {
        throw TopologyError(
            out_of_range("number of nodes", nodes.size(), std::size_t{1}, Limits::nodes));
    }
    if (links.size() > Limits::links) {
        throw TopologyError(
            out_of_range("number of links", links.size(), std::size_t{0}, Limits::links));
    }
}

/// Checks the nodes in order; remembers which ids and bus ids are taken.
class NodeCheck {
public:
    explicit NodeCheck(const std::vector<Node>& nodes) : nodes_(nodes) {}

    void run() {
        for (index_ = 0; index_ < nodes_.size(); ++index_) {
            const Node& node = nodes_[index_];
            if (to_string(node.type) == "unknown") fail("the node type is none of the known ones");
            if (node.id.empty()) fail("the id is empty");
            if (node.host < 0 || node.host >= Limits::hosts) {
                fail(out_of_range("host", node.host, 0, Limits::hosts - 1));
            }
            check_text("id", node.id);
            check_gpu(node);
            check_details(node);
            claim(ids_, {0, node.id}, "id");
            const bool is_gpu = node.type == NodeType::gpu;
            const std::string_view bus_id = is_gpu     ? std::string_view(node.gpu.bus_id)
                                            : node.pci ? std::string_view(node.pci->bus_id)
                                                       : "";
            if (!bus_id.empty()) claim(bus_ids_, {node.host, bus_id}, "bus id");
        }
    }

private:
    using Key = std::pair<int, std::string_view>;  ///< host and text
    using Owners = std::map<Key, std::size_t>;

    std::string describe(std::size_t index) const {
        return "node " + std::to_string(index) + " (" + std::string(to_string(nodes_[index].type)) +
               " " + in_quotes(nodes_[index].id) + ")";
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw TopologyError(describe(index_) + ": " + what);
    }

    void check_text(std::string_view what, std::string_view text) const {
        if (text.size() > Limits::text) {
            fail(out_of_range("length of the " + std::string(what), text.size(), std::size_t{0},
                              Limits::text));
        }
        if (!is_printable(text)) {
            fail("the " + std::string(what) + " " + in_quotes(text) +
                 " contains a control character or is not UTF-8");
        }
    }

    void check_gpu(const Node& node) const {
        const GpuInfo& gpu = node.gpu;
        if (node.type != NodeType::gpu) {
            if (gpu != GpuInfo{}) fail("only a gpu may have a model or other facts of a GPU");
            return;
        }
        check_text("model", gpu.model);
        if (gpu.compute_major < 0 || gpu.compute_major > 99 || gpu.compute_minor < 0 ||
            gpu.compute_minor > 9 || (gpu.compute_major == 0 && gpu.compute_minor > 0)) {
            fail("the compute capability " + std::to_string(gpu.compute_major) + "." +
                 std::to_string(gpu.compute_minor) + " is not between 1.0 and 99.9");
        }
        if (gpu.memory_bytes > Limits::memory_bytes) {
            fail(out_of_range("memory in bytes", gpu.memory_bytes, std::uint64_t{0},
                              Limits::memory_bytes));
        }
        check_bus_id(gpu.bus_id);
        if (!gpu.rank) return;
        check_fields(*gpu.rank);
        if (gpu.rank->sm && gpu.rank->gcn.empty()) fail("only an AMD gpu has an sm beside its gcn");
    }

    void check_bus_id(std::string_view bus_id) const {
        if (!bus_id.empty() && !is_bus_id(bus_id)) {
            fail("the bus id " + in_quotes(bus_id) + " does not look like \"0000:06:00.0\"");
        }
    }

    void check_details(const Node& node) const {
        if (node.pci && node.type == NodeType::cpu) fail("a cpu is not a PCI device");
        if (node.cpu && node.type != NodeType::cpu) fail("only a cpu may have facts of a CPU");
        if (node.net && node.type != NodeType::nic) fail("only a nic may have facts of a port");
        if (node.cpu) check_fields(*node.cpu);
        if (node.net) check_fields(*node.net);
        if (!node.pci) return;
        check_fields(*node.pci);
        check_bus_id(node.pci->bus_id);
        if (node.type == NodeType::gpu && !node.pci->bus_id.empty()) {
            fail("a gpu has its bus id among the facts of the GPU, not of the PCI device");
        }
    }

    template <class Info>
    void check_fields(const Info& info) const {
        visit_fields(info, [this](std::string_view name, const auto& value) {
            if constexpr (std::is_same_v<decltype(value), const std::string&>) {
                check_text(name, value);
            }
        });
    }

    void claim(Owners& owners, Key key, std::string_view what) const {
        const auto [other, fresh] = owners.emplace(key, index_);
        if (fresh) return;
        fail("the " + std::string(what) + " " + in_quotes(key.second) + " is already used by " +
             describe(other->second));
    }

    const std::vector<Node>& nodes_;
    Owners ids_;
    Owners bus_ids_;
    std::size_t index_ = 0;
};

/// Checks the links in order; the nodes must be valid.
class LinkCheck {
public:
    LinkCheck(const std::vector<Node>& nodes, const std::vector<Link>& links)
        : nodes_(nodes), links_(links) {}

    void run() {
        for (index_ = 0; index_ < links_.size(); ++index_) {
            const Link& link = links_[index_];
            check_endpoints(link);
            check_numbers(link);
            const auto [other, fresh] =
                bundles_.emplace(std::tuple(link.source, link.target, link.kind), index_);
            if (!fresh) {
                fail("repeats link " + std::to_string(other->second) +
                     "; parallel links are one bundle with a count");
            }
        }
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw TopologyError(describe_link(nodes_, links_, index_) + ": " + what);
    }

    void check_endpoints(const Link& link) const {
        for (const int endpoint : {link.source, link.target}) {
            if (endpoint < 0 || static_cast<std::size_t>(endpoint) >= nodes_.size()) {
                fail("there is no node #" + std::to_string(endpoint));
            }
        }
        if (link.source == link.target) fail("a node cannot be linked to itself");
        if (to_string(link.kind) == "unknown") fail("the link kind is none of the known ones");
    }

    void check_numbers(const Link& link) const {
        if (link.count < 1 || link.count > Limits::count) {
            fail(out_of_range("count", link.count, 1, Limits::count));
        }
        check_bandwidth("nominal bandwidth in bytes per second", link.nominal);
        check_bandwidth("NCCL-model bandwidth in bytes per second", link.nccl);
        if (link.latency_us && !(*link.latency_us >= 0 && *link.latency_us <= Limits::latency_us)) {
            fail(out_of_range("latency in us", *link.latency_us, 0.0, Limits::latency_us));
        }
    }

    void check_bandwidth(std::string_view what, std::int64_t value) const {
        if (value < 1 || value > Limits::bandwidth) {
            fail(out_of_range(what, value, std::int64_t{1}, Limits::bandwidth));
        }
    }

    const std::vector<Node>& nodes_;
    const std::vector<Link>& links_;
    std::map<std::tuple<int, int, LinkKind>, std::size_t> bundles_;
    std::size_t index_ = 0;
};

}  // namespace

bool is_printable(std::string_view text) {
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    return is_utf8(text) && std::ranges::none_of(text, is_control);
}

bool is_bus_id(std::string_view text) {
    constexpr std::string_view tail = ":hh:hh.h";
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    if (text.size() < 4 + tail.size() || text.size() > 8 + tail.size()) return false;
    const std::size_t domain = text.size() - tail.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char expected = i < domain ? 'h' : tail[i - domain];
        const bool digit = digits.find(text[i]) != std::string_view::npos;
        if (expected == 'h' ? !digit : text[i] != expected) return false;
    }
    return true;
}

void validate(const std::vector<Node>& nodes, const std::vector<Link>& links) {
    check_sizes(nodes, links);
    NodeCheck(nodes).run();
    LinkCheck(nodes, links).run();
}

}  // namespace rondo
