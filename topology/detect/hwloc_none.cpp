// A build without hwloc.
#include "topology/detect/hwloc_source.hpp"

namespace rondo::detection {

bool hwloc_available() {
    return false;
}

std::map<std::string, int> read_hwloc() {
    return {};
}

}  // namespace rondo::detection
