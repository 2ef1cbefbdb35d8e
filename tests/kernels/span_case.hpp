// One case of the conformance suite: a step with random contents, run by an executor and compared
// with the reference.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/executor.hpp"

namespace rondo::test {

struct SpanCase {
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t sources = 2;
    std::uint32_t destinations = 1;
    std::uint64_t count = 0;
    std::uint64_t first = 0;
    /// Bytes by which span i is off a 64-byte boundary: sources first, then destinations. Shorter
    /// means 0.
    std::vector<std::size_t> misalignment = {};
    /// Destination 0 is this source.
    int in_place = -1;
};

using Random = std::mt19937;

/// Random bits, and for floats also many numbers of ordinary size and all the special ones.
void fill_random(ElementType type, std::byte* to, std::uint64_t count, Random& random);

/// Fails the test, with the case in words, unless every destination holds the reference's result
/// and nothing else changed.
void run_case(Executor& executor, const SpanCase& span_case, Random& random);

}  // namespace rondo::test
