// Topologies from every kind of file that we read, told apart by what is in it.
#include "topology/load/any_topology.hpp"

#include "topology/graph/json.hpp"
#include "topology/graph/load.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace rondo {

Topology topology_from_any_text(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    std::string_view rest = text;
    if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
    const auto first = rest.find_first_not_of(" \t\r\n");
    const bool is_xml = first != std::string_view::npos && rest[first] == '<';
    return is_xml ? topology_from_nccl_xml(text) : topology_from_json(text);
}

Topology load_any_topology(std::string_view specification) {
    return load_topology(specification, topology_from_any_text);
}

}  // namespace rondo
