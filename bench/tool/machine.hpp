// What a reader of a report wants to know of the machine that it was measured on.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rondo::bench {

/// Processor, cores, caches, memory, kernel, compiler: name and value.
std::vector<std::pair<std::string, std::string>> describe_machine();

std::string host_name();
/// "2026-11-18 09:30:00"
std::string time_text();
/// Bytes that could be allocated now; 0: unknown.
double available_memory();

}  // namespace rondo::bench
