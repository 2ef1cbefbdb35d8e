// What a reader of a report wants to know of the machine that it was measured on.
#include "bench/tool/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <thread>

#include "bench/tool/sizes.hpp"

namespace rondo::bench {
namespace {

/// The value behind the first line that begins with `key`, or nothing.
std::string value_in_file(const char* file, const std::string& key) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        if (!line.starts_with(key)) continue;
        const auto value = line.find_first_not_of(" \t:", key.size());
        return value == std::string::npos ? "" : line.substr(value);
    }
    return "";
}

std::string caches_text() {
    const auto size_of_cache = [](int name) {
        const long bytes = sysconf(name);
        return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : std::string("unknown");
    };
    return fmt::format("L1 {}, L2 {}, L3 {}", size_of_cache(_SC_LEVEL1_DCACHE_SIZE),
                       size_of_cache(_SC_LEVEL2_CACHE_SIZE), size_of_cache(_SC_LEVEL3_CACHE_SIZE));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe_machine() {
    utsname system = {};
    uname(&system);
    return {{"processor", value_in_file("/proc/cpuinfo", "model name")},
            {"cores", std::to_string(std::thread::hardware_concurrency())},
            {"caches", caches_text()},
            {"memory", value_in_file("/proc/meminfo", "MemTotal")},
            {"load before the run", value_in_file("/proc/loadavg", "")},
            {"system", fmt::format("{} {}", system.sysname, system.release)},
            {"compiler", fmt::format("g++ {}", __VERSION__)}};
}

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string time_text() {
    const std::time_t now = std::time(nullptr);
    std::tm local = {};
    localtime_r(&now, &local);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
    return text.data();
}

double available_memory() {
    const std::string text = value_in_file("/proc/meminfo", "MemAvailable");
    return text.empty() ? 0 : 1024 * std::strtod(text.c_str(), nullptr);
}

}  // namespace rondo::bench
