// CPUs and NUMA domains, from /proc/cpuinfo and /sys/devices/system/node.
#include <sstream>

#include "topology/detect/sysfs_files.hpp"
#include "topology/detect/sysfs_source.hpp"

namespace rondo::detection {
namespace {

/// "vendor_id\t: GenuineIntel" as a pair without white space around; the vendor keeps its blanks,
/// because one of them has some.
std::pair<std::string, std::string> key_and_value(const std::string& line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) return {};
    const std::size_t key_end = line.find_last_not_of(" \t", colon - 1);
    if (colon == 0 || key_end == std::string::npos) return {};
    std::string value = line.substr(colon + 1);
    if (!value.empty() && value.front() == ' ') value.erase(0, 1);
    return {line.substr(0, key_end + 1), value};
}

/// The first CPU speaks for all.
CpuInfo read_kind(const std::filesystem::path& root) {
    CpuInfo cpu;
    std::istringstream text(whole_text(root / "proc/cpuinfo"));
    for (std::string line; std::getline(text, line) && !line.empty();) {
        const auto [key, value] = key_and_value(line);
        if (key == "vendor_id") {
            cpu.arch = "x86_64";
            cpu.vendor = value;
        }
        if (key == "cpu family") cpu.family = leading_number(value);
        if (key == "model") cpu.model = leading_number(value);
        if (key == "CPU implementer") cpu.arch = "arm64";
        if (key == "cpu" && value.starts_with("POWER")) cpu.arch = "ppc64";
    }
    return cpu;
}

}  // namespace

std::map<int, CpuInfo> read_cpus(const std::filesystem::path& root) {
    const CpuInfo kind = read_kind(root);
    const std::filesystem::path folder = root / "sys/devices/system/node";
    std::map<int, CpuInfo> cpus;
    for (const std::string& name : names_in(folder)) {
        const auto number =
            name.starts_with("node") ? leading_number(name.substr(4)) : std::nullopt;
        if (!number || *number < 0) continue;
        CpuInfo cpu = kind;
        cpu.numa_id = *number;
        cpu.affinity = first_line(folder / name / "cpumap");
        cpus[*number] = std::move(cpu);
    }
    if (cpus.empty()) cpus[0] = kind;
    return cpus;
}

}  // namespace rondo::detection
