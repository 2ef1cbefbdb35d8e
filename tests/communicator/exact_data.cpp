// The rule as functions, for who has the type and the operator at hand.
#include "tests/communicator/exact_data.hpp"

#include "bench/tool/exact_rule.hpp"

namespace rondo::test {

double exact_limit(ElementType type) {
    return ExactRule{.type = type}.limit();
}

double exact_value(ElementType type, ReduceOp op, std::uint32_t ranks, std::uint32_t rank,
                   std::uint64_t index) {
    return ExactRule{type, op, ranks}.value(rank, index);
}

double exact_factor(std::uint32_t rank) {
    return ExactRule::factor(rank);
}

double exact_result(ElementType type, ReduceOp op, std::uint32_t ranks, std::uint64_t index) {
    return ExactRule{type, op, ranks}.result(index);
}

}  // namespace rondo::test
