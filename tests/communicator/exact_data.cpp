// Small integers: no partial result leaves what the type holds exactly.
#include "tests/communicator/exact_data.hpp"

#include <algorithm>
#include <cmath>

namespace rondo::test {
namespace {

bool is_signed(ElementType type) {
    return type != ElementType::u8 && type != ElementType::u32 && type != ElementType::u64;
}

std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

/// 0 to `most`, or -most to most for signed types.
double pick(ElementType type, std::uint64_t seed, double most) {
    const auto range = static_cast<std::uint64_t>(most);
    const double value = static_cast<double>(mix(seed) % (range + 1));
    return is_signed(type) && value != 0 && mix(seed + 1) % 2 == 0 ? -value : value;
}

double summand(ElementType type, std::uint32_t ranks, std::uint32_t rank, std::uint64_t index,
               double factor) {
    const double share = std::floor(exact_limit(type) / ranks / factor);
    if (share >= 1) {
        return pick(type, index * 131 + rank, std::min(share, 100.0));
    }
    // Fewer ranks than the limit have a one.
    const auto ones = static_cast<std::uint64_t>(exact_limit(type) / factor);
    return (rank + index) % ranks < ones && mix(index) % 4 != 0 ? 1 : 0;
}

/// The same for all, plus what cancels in pairs of ranks.
double average(ElementType type, std::uint32_t ranks, std::uint32_t rank, std::uint64_t index) {
    const double share = std::floor(exact_limit(type) / ranks / 2);
    const double base = pick(type, index * 7, std::min(share, 50.0));
    const bool paired = is_signed(type) && share >= 1 && (ranks % 2 == 0 || rank + 1 < ranks);
    const double delta = paired ? (rank % 2 == 0 ? 1 : -1) : 0;
    return base + delta;
}

}  // namespace

double exact_limit(ElementType type) {
    switch (type) {
        case ElementType::i8:
            return 127;
        case ElementType::u8:
            return 255;
        case ElementType::f16:
            return 2048;
        case ElementType::bf16:
            return 256;
        case ElementType::f8e4m3:
            return 16;
        case ElementType::f8e5m2:
            return 8;
        default:
            return 1 << 24;
    }
}

double exact_value(ElementType type, ReduceOp op, std::uint32_t ranks, std::uint32_t rank,
                   std::uint64_t index) {
    switch (op) {
        case ReduceOp::mean:
            return average(type, ranks, rank, index);
        case ReduceOp::prod: {
            const double size = (rank + index) % ranks < 3 ? 2 : 1;
            return is_signed(type) && mix(index + rank) % 2 == 0 ? -size : size;
        }
        case ReduceOp::min:
        case ReduceOp::max:
            return pick(type, index * 131 + rank, std::min(exact_limit(type), 100.0));
        case ReduceOp::premul_sum:
            return summand(type, ranks, rank, index, 2);
        default:
            return summand(type, ranks, rank, index, 1);
    }
}

double exact_factor(std::uint32_t rank) {
    return 1 + rank % 2;
}

double exact_result(ElementType type, ReduceOp op, std::uint32_t ranks, std::uint64_t index) {
    double result =
        exact_value(type, op, ranks, 0, index) * (op == ReduceOp::premul_sum ? exact_factor(0) : 1);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        const double value = exact_value(type, op, ranks, rank, index);
        switch (op) {
            case ReduceOp::prod:
                result *= value;
                break;
            case ReduceOp::min:
                result = std::min(result, value);
                break;
            case ReduceOp::max:
                result = std::max(result, value);
                break;
            case ReduceOp::premul_sum:
                result += value * exact_factor(rank);
                break;
            default:
                result += value;
                break;
        }
    }
    return op == ReduceOp::mean ? result / ranks : result;
}

}  // namespace rondo::test
