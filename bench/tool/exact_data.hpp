// Data whose reduction has one exact result, in any order and in every element type.
//
// Values are small whole numbers, chosen so that no partial result needs more digits than the type
// has (exact_rule.hpp). They depend on rank and index and repeat after a prime number of
// elements, so that a part that ends up in the wrong place is noticed; a short pattern describes
// any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/types.hpp"

namespace rondo::bench {

struct DataRule {
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    int ranks = 1;
};

inline constexpr std::size_t pattern_elements = 16381;  ///< a prime

/// premul_sum: what a rank's contribution is multiplied by.
double factor_of(int rank);

/// The input of `rank` at `index`, and the reduction of all. Exact in the rule's type.
double input_value(const DataRule& rule, int rank, std::uint64_t index);
double reduced_value(const DataRule& rule, std::uint64_t index);

/// The first `pattern_elements` values as they lie in memory; fewer where no more than `needed`
/// are.
std::vector<std::byte> input_pattern(const DataRule& rule, int rank, std::uint64_t needed);
std::vector<std::byte> reduced_pattern(const DataRule& rule, std::uint64_t needed);

/// Elements `first` to `first + count` of an endless repetition of the pattern.
struct PatternPart {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};
void write_pattern(const std::vector<std::byte>& pattern, std::size_t element, PatternPart part,
                   void* device_memory);
/// How many elements differ.
std::int64_t count_wrong(const std::vector<std::byte>& pattern, std::size_t element,
                         PatternPart part, const void* device_memory);

}  // namespace rondo::bench
