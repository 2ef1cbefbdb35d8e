// The words that the JSON schema and the messages use for node types and link kinds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quotes.hpp"
#include "topology/graph/topology.hpp"

namespace rondo {

std::string_view to_string(NodeType type);  ///< gpu, switch, cpu, nic
std::string_view to_string(LinkKind kind);  ///< NVL, XGMI, PCI, SYS, NET, MEM, C2C

std::optional<NodeType> node_type_from(std::string_view word);
std::optional<LinkKind> link_kind_from(std::string_view word);

bool is_utf8(std::string_view text);

/// "link 3 (gpu0 -> gpu1, NVL)"; endpoints that do not exist are shown as numbers.
std::string describe_link(const std::vector<Node>& nodes, const std::vector<Link>& links,
                          std::size_t index);

}  // namespace rondo
