// NCCL's XML: any bytes are read or refused; what is read survives JSON and the way through XML.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "tests/fuzz/require.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/json.hpp"
#include "topology/xml/nccl_xml.hpp"

namespace {

using namespace rondo;

/// NCCL's limits may forbid a file that we read; then there is nothing to compare.
void check_export(const Topology& topology) {
    NcclXml xml;
    try {
        xml = export_nccl_xml(topology);
    } catch (const TopologyError& error) {
        const std::string_view message = error.what();
        fuzz::require(message.find("NCCL reads at most") != message.npos,
                      "what was read from XML can be written as XML");
        return;
    }
    for (const std::string& loss : xml.left_out) std::fprintf(stderr, "%s\n", loss.c_str());
    if (!xml.left_out.empty()) std::fprintf(stderr, "%s", xml.text.c_str());
    fuzz::require(xml.left_out.empty(), "XML to XML loses nothing");
    const Topology again = topology_from_nccl_xml(xml.text);
    fuzz::require(again.nodes().size() == topology.nodes().size(), "every node is there again");
    fuzz::require(again.links().size() == topology.links().size(), "every link is there again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const Topology topology = topology_from_nccl_xml(text);
        fuzz::require(topology_from_json(topology_to_json(topology)) == topology,
                      "what XML says can be said in JSON");
        check_export(topology);
    } catch (const TopologyError& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
    return 0;
}
