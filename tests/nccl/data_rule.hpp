// What two libraries are given to reduce, and how far apart their results may be. For host and
// device alike.
#pragma once

#include <cstdint>
#include <type_traits>

#include "bench/tool/exact_rule.hpp"
#include "tests/communicator/with_element.hpp"

namespace rondo::test {

/// Elements to and from double. Narrow floats round once, from float.
template <class T>
RONDO_ANYWHERE T element_of(double value) {
    if constexpr (sizeof(T) < 4 && !std::is_integral_v<T>) {
        return T(static_cast<float>(value));
    } else {
        return static_cast<T>(value);
    }
}
template <class T>
RONDO_ANYWHERE double number_of(T element) {
    if constexpr (sizeof(T) < 4 && !std::is_integral_v<T>) {
        return static_cast<double>(static_cast<float>(element));
    } else {
        return static_cast<double>(element);
    }
}

struct DataRule {
    enum class Kind : std::uint8_t { exact, random };

    Kind kind = Kind::exact;
    ExactRule exact = {};
    std::uint64_t seed = 0;  ///< random: another seed, other data

    /// What a rank contributes, before it is rounded to the type.
    RONDO_ANYWHERE double value(std::uint32_t rank, std::uint64_t index) const {
        if (kind == Kind::exact) return exact.value(rank, index);
        const std::uint64_t bits = mix_bits(seed * 0x9e3779b97f4a7c15 + index * 257 + rank + 1);
        const double unit = static_cast<double>(bits >> 11) * 0x1p-53;  // [0, 1)
        // Products stay far from the ends of every type.
        return exact.op == ReduceOp::prod ? 0.75 + unit / 2 : 2 * unit - 1;
    }

    RONDO_ANYWHERE static bool is_float(ElementType type) { return type >= ElementType::f16; }

    /// Half the distance of neighbours near 1: what one rounding changes, relatively. 0 for
    /// integers.
    RONDO_ANYWHERE double unit_roundoff() const {
        switch (exact.type) {
            case ElementType::f16:
                return 0x1p-11;
            case ElementType::bf16:
                return 0x1p-8;
            case ElementType::f32:
                return 0x1p-24;
            case ElementType::f64:
                return 0x1p-53;
            case ElementType::f8e4m3:
                return 0x1p-4;
            case ElementType::f8e5m2:
                return 0x1p-3;
            default:
                return 0;
        }
    }
    /// The distance of neighbours near 0: half of it is what one rounding changes there.
    RONDO_ANYWHERE double least_step() const {
        switch (exact.type) {
            case ElementType::f16:
                return 0x1p-24;
            case ElementType::bf16:
                return 0x1p-133;
            case ElementType::f32:
                return 0x1p-149;
            case ElementType::f64:
                return 0x1p-1074;
            case ElementType::f8e4m3:
                return 0x1p-9;
            case ElementType::f8e5m2:
                return 0x1p-16;
            default:
                return 0;
        }
    }

    /// Roundings on the way of one contribution to the result, whatever the order: one per
    /// addition or multiplication, n - 1 in all. premul_sum has one more, for the product. A mean
    /// may be a sum of products with 1/n, which is rounded itself: two more.
    RONDO_ANYWHERE double roundings() const {
        switch (exact.op) {
            case ReduceOp::min:
            case ReduceOp::max:
                return 0;
            case ReduceOp::mean:
                return exact.ranks + 1.0;
            case ReduceOp::premul_sum:
                return exact.ranks;
            default:
                return exact.ranks - 1.0;
        }
    }

    /// With u for one rounding, k roundings change a sum by at most g = k u / (1 - k u) times the
    /// sum of magnitudes. There is no such bound when k u is not small.
    RONDO_ANYWHERE bool has_bound() const { return roundings() * unit_roundoff() < 0.5; }

    /// How far apart two results may be: each of them is within g times the sum of magnitudes (or
    /// the product) of the true one, and a least step per rounding where subnormals begin.
    RONDO_ANYWHERE double bound(std::uint64_t index) const {
        double magnitude = exact.op == ReduceOp::prod ? 1 : 0;
        for (std::uint32_t rank = 0; rank < exact.ranks; ++rank) {
            const double own = std::fabs(value(rank, index)) * (1 + unit_roundoff());
            const double factor = exact.op == ReduceOp::premul_sum ? ExactRule::factor(rank) : 1;
            magnitude = exact.op == ReduceOp::prod ? magnitude * own : magnitude + own * factor;
        }
        if (exact.op == ReduceOp::mean) magnitude /= exact.ranks;
        const double k = roundings();
        const double growth = k * unit_roundoff() / (1 - k * unit_roundoff());
        return 2 * growth * magnitude + k * least_step();
    }
};

}  // namespace rondo::test
