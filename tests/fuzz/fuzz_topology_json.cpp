// Topology files in JSON: any bytes are read or refused; what is read can be written and read
// again.
#include <string_view>

#include "tests/fuzz/require.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rondo;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const Topology topology = topology_from_json(text);
        const std::string written = topology_to_json(topology);
        const Topology again = topology_from_json(written);
        fuzz::require(again == topology, "JSON keeps every value");
        fuzz::require(topology_to_json(again) == written, "the written form is stable");
        fuzz::require(topology.peer_access(0, topology.gpu_count() - 1) ==
                          topology.peer_access(topology.gpu_count() - 1, 0),
                      "peer access is symmetric");
    } catch (const TopologyError& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
    return 0;
}
