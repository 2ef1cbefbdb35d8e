// Makes and checks test data where it lies, with Thrust: on the device when nvcc compiles it, on
// the host where virtual GPUs have their memory.
#pragma once

#include <cstdint>

#include "tests/nccl/data_rule.hpp"

namespace rondo::test {

/// Elements [begin, begin + count) of a message.
struct Range {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
};

// All memory belongs to the current device. Calls run on its default stream and have ended when
// they return.

/// "cuda" or "cpp": whom Thrust calls the device.
const char* thrust_backend();

void make_values(const DataRule& rule, std::uint32_t rank, void* data, Range range);
/// Of an exact rule.
void make_results(const DataRule& rule, void* data, Range range);

/// The first element whose bits differ, or `count` when none does.
std::uint64_t first_difference(ElementType type, const void* a, const void* b, std::uint64_t count);
/// The first element that is farther from its counterpart than the rule allows, or `range.count`.
std::uint64_t first_outside_bound(const DataRule& rule, const void* a, const void* b, Range range);

}  // namespace rondo::test
