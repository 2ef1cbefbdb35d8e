// Our own attributes in NCCL's files, which NCCL ignores: they keep what the format has no word
// for.
//   rondo_id         the id of the node, where it is not the usual one
//   rondo_implied    attributes (or "node": the whole element) that were made up for NCCL's sake
//   rondo_link       the link that the element stands for, where NCCL's rules give another one:
//                    "count,nominal,nccl" or "count,nominal,nccl,latency" in bytes per second and
//                    microseconds; "none" if there is no link
//   rondo_back       the same for the other direction
//   rondo_sys        all links of a CPU to others in its machine, where NCCL's rules give others:
//                    "numaid=count,nominal,nccl;..."
//   rondo_switch     the id of the NVSwitch; without it all are one
//   rondo_host, rondo_model, rondo_memory, rondo_pci_peer_access
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "topology/graph/topology.hpp"
#include "topology/xml/element.hpp"
#include "topology/xml/rules.hpp"

namespace rondo {

namespace extension {
inline constexpr const char* id = "rondo_id";
inline constexpr const char* implied = "rondo_implied";
inline constexpr const char* link = "rondo_link";
inline constexpr const char* back = "rondo_back";
inline constexpr const char* sockets = "rondo_sys";
inline constexpr const char* network_switch = "rondo_switch";
inline constexpr const char* host = "rondo_host";
inline constexpr const char* model = "rondo_model";
inline constexpr const char* memory = "rondo_memory";
inline constexpr const char* pci_peer_access = "rondo_pci_peer_access";
}  // namespace extension

/// The name of a topology whose file has none.
inline constexpr const char* unnamed = "nccl";

/// What one element says about both directions between two nodes. The endpoints of the links are
/// not set.
struct LinkPair {
    std::optional<Link> there;
    std::optional<Link> back;
};

Link make_link(LinkKind kind, int count, Bandwidth bandwidth);
LinkPair both_ways(const Link& link);

/// Whether they differ in more than their endpoints.
bool same_apart_from_endpoints(const std::optional<Link>& a, const std::optional<Link>& b);

/// The attribute's value for a link.
std::string encode_link(const std::optional<Link>& link);

/// `expected`, unless the element has our attributes.
LinkPair read_links(const XmlElement& element, const LinkPair& expected);

/// What rondo_sys says, by the other CPU's numaid; nothing if it is not there.
using SocketLinks = std::map<std::string, Link>;
std::optional<SocketLinks> read_socket_links(const XmlElement& cpu);
std::string encode_socket_links(const SocketLinks& links);

/// Whether `word` is among those that rondo_implied lists.
bool is_implied(const XmlElement& element, std::string_view word);

}  // namespace rondo
