// Inputs whose reduction is exact in any order and any grouping, for every type, operator and
// number of ranks.
#pragma once

#include <cstdint>

#include "rondo/types.hpp"

namespace rondo::test {

/// The greatest integer such that the type holds it and all below it.
double exact_limit(ElementType type);

/// What rank `rank` of `ranks` contributes at `index`.
double exact_value(ElementType type, ReduceOp op, std::uint32_t ranks, std::uint32_t rank,
                   std::uint64_t index);

/// premul_sum: the factor of a rank.
double exact_factor(std::uint32_t rank);

/// The reduction of all ranks' values.
double exact_result(ElementType type, ReduceOp op, std::uint32_t ranks, std::uint64_t index);

}  // namespace rondo::test
