// The words that the JSON schema and the messages use for node types and link kinds.
#include "topology/graph/names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rondo {
namespace {

constexpr std::array<std::pair<NodeType, std::string_view>, 4> node_types{{
    {NodeType::gpu, "gpu"},
    {NodeType::network_switch, "switch"},
    {NodeType::cpu, "cpu"},
    {NodeType::nic, "nic"},
}};

constexpr std::array<std::pair<LinkKind, std::string_view>, 7> link_kinds{{
    {LinkKind::nvlink, "NVL"},
    {LinkKind::xgmi, "XGMI"},
    {LinkKind::pci, "PCI"},
    {LinkKind::inter_socket, "SYS"},
    {LinkKind::network, "NET"},
    {LinkKind::memory, "MEM"},
    {LinkKind::chip_to_chip, "C2C"},
}};

template <class Table, class Value>
std::string_view word_of(const Table& table, Value value) {
    const auto found = std::ranges::find(table, value, &Table::value_type::first);
    return found == table.end() ? "unknown" : found->second;
}

template <class Table>
auto value_of(const Table& table, std::string_view word)
    -> std::optional<typename Table::value_type::first_type> {
    const auto found = std::ranges::find(table, word, &Table::value_type::second);
    if (found == table.end()) return std::nullopt;
    return found->first;
}

std::string endpoint_name(const std::vector<Node>& nodes, int index) {
    const bool exists = index >= 0 && static_cast<std::size_t>(index) < nodes.size();
    return exists ? nodes[static_cast<std::size_t>(index)].id : "#" + std::to_string(index);
}

}  // namespace

std::string_view to_string(NodeType type) {
    return word_of(node_types, type);
}
std::string_view to_string(LinkKind kind) {
    return word_of(link_kinds, kind);
}
std::optional<NodeType> node_type_from(std::string_view word) {
    return value_of(node_types, word);
}
std::optional<LinkKind> link_kind_from(std::string_view word) {
    return value_of(link_kinds, word);
}

bool is_utf8(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned lead = byte(i);
        const std::size_t length = lead < 0x80   ? 1
                                   : lead < 0xc2 ? 0
                                   : lead < 0xe0 ? 2
                                   : lead < 0xf0 ? 3
                                   : lead < 0xf5 ? 4
                                                 : 0;
        if (length == 0 || i + length > text.size()) return false;
        for (std::size_t k = 1; k < length; ++k) {
            if ((byte(i + k) & 0xc0) != 0x80) return false;
        }
        const unsigned second = length > 1 ? byte(i + 1) : 0x80;
        const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
        const bool surrogate = lead == 0xed && second > 0x9f;
        const bool too_large = lead == 0xf4 && second > 0x8f;
        if (overlong || surrogate || too_large) return false;
        i += length;
    }
    return true;
}

std::string describe_link(const std::vector<Node>& nodes, const std::vector<Link>& links,
                          std::size_t index) {
    const Link& link = links[index];
    return "link " + std::to_string(index) + " (" + endpoint_name(nodes, link.source) + " -> " +
           endpoint_name(nodes, link.target) + ", " + std::string(to_string(link.kind)) + ")";
}

}  // namespace rondo
