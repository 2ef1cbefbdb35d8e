// What every executor must compute, written as simply as possible: one element at a time, narrow
// floats converted by NVIDIA's own host functions.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/reduce_step.hpp"
#include "rondo/types.hpp"

namespace rondo::test {

/// The bytes that each destination of the step must hold afterwards.
std::vector<std::byte> expected_result(ElementType type, ReduceOp op,
                                       const kernels::ReduceStep& step);

/// Same bits, or both NaN: which NaN an operation gives is left open.
bool same_element(ElementType type, const std::byte* a, const std::byte* b);

/// The bits of an element that stands for `value`, as they lie in memory.
std::vector<std::byte> element_from(ElementType type, double value);

/// "1.5 (0x3e00)".
std::string show_element(ElementType type, const std::byte* element);

bool is_float(ElementType type);

}  // namespace rondo::test
