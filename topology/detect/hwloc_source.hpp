// Which NUMA domain a PCI device is near, as hwloc knows it: it mends what some firmware leaves
// out.
#pragma once

#include <map>
#include <string>

namespace rondo::detection {

/// Whether this build has hwloc.
bool hwloc_available();

/// NUMA domains by bus id, for the devices that are near one. Empty where hwloc fails or is not
/// there. It looks at this machine, or at what HWLOC_XMLFILE says.
std::map<std::string, int> read_hwloc();

}  // namespace rondo::detection
