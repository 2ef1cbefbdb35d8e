// Inputs whose reduction is exact in any order and any grouping: small integers, such that no
// partial result leaves what the type holds exactly. For host and device alike.
#pragma once

#include <cmath>
#include <cstdint>

#include "rondo/types.hpp"

#if defined(__CUDACC__)
#define RONDO_ANYWHERE __host__ __device__
#else
#define RONDO_ANYWHERE
#endif

namespace rondo {

RONDO_ANYWHERE inline std::uint64_t mix_bits(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

struct ExactRule {
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t ranks = 1;

    /// What a rank contributes.
    RONDO_ANYWHERE double value(std::uint32_t rank, std::uint64_t index) const {
        switch (op) {
            case ReduceOp::mean:
                return average(rank, index);
            case ReduceOp::prod: {
                const double size = (rank + index) % ranks < 3 ? 2 : 1;
                return is_signed() && mix_bits(index + rank) % 2 == 0 ? -size : size;
            }
            case ReduceOp::min:
            case ReduceOp::max:
                return pick(index * 131 + rank, least(limit(), 100));
            case ReduceOp::premul_sum:
                return summand(rank, index, 2);
            default:
                return summand(rank, index, 1);
        }
    }

    /// premul_sum: what a rank's contribution is multiplied by.
    RONDO_ANYWHERE static double factor(std::uint32_t rank) { return 1 + rank % 2; }

    /// The reduction of all ranks' values.
    RONDO_ANYWHERE double result(std::uint64_t index) const {
        double total = value(0, index) * (op == ReduceOp::premul_sum ? factor(0) : 1);
        for (std::uint32_t rank = 1; rank < ranks; ++rank) {
            const double next = value(rank, index);
            switch (op) {
                case ReduceOp::prod:
                    total *= next;
                    break;
                case ReduceOp::min:
                    total = next < total ? next : total;
                    break;
                case ReduceOp::max:
                    total = total < next ? next : total;
                    break;
                case ReduceOp::premul_sum:
                    total += next * factor(rank);
                    break;
                default:
                    total += next;
                    break;
            }
        }
        return op == ReduceOp::mean ? total / ranks : total;
    }

    /// The greatest integer such that the type holds it and all below it.
    RONDO_ANYWHERE double limit() const {
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

private:
    RONDO_ANYWHERE static double least(double a, double b) { return a < b ? a : b; }

    RONDO_ANYWHERE bool is_signed() const {
        return type != ElementType::u8 && type != ElementType::u32 && type != ElementType::u64;
    }

    /// 0 to `most`, or -most to most for signed types.
    RONDO_ANYWHERE double pick(std::uint64_t seed, double most) const {
        const auto range = static_cast<std::uint64_t>(most);
        const auto value = static_cast<double>(mix_bits(seed) % (range + 1));
        return is_signed() && value != 0 && mix_bits(seed + 1) % 2 == 0 ? -value : value;
    }

    RONDO_ANYWHERE double summand(std::uint32_t rank, std::uint64_t index, double factor) const {
        const double share = std::floor(limit() / ranks / factor);
        if (share >= 1) {
            return pick(index * 131 + rank, least(share, 100));
        }
        // Fewer ranks than the limit have a one.
        const auto ones = static_cast<std::uint64_t>(limit() / factor);
        return (rank + index) % ranks < ones && mix_bits(index) % 4 != 0 ? 1 : 0;
    }

    /// The same for all, plus what cancels in pairs of ranks.
    RONDO_ANYWHERE double average(std::uint32_t rank, std::uint64_t index) const {
        const double share = std::floor(limit() / ranks / 2);
        const double base = pick(index * 7, least(share, 50));
        const bool paired = is_signed() && share >= 1 && (ranks % 2 == 0 || rank + 1 < ranks);
        return base + (paired ? (rank % 2 == 0 ? 1 : -1) : 0);
    }
};

}  // namespace rondo
