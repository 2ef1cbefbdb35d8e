// The element types and operators that a caller may name, with their sizes and spellings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/error.hpp"

namespace rondo {

/// What a tensor holds. f8e4m3 and f8e5m2 are the 8-bit floats of the OCP specification
/// (cuda_fp8.h).
enum class ElementType : std::uint8_t {
    i8,
    u8,
    i32,
    u32,
    i64,
    u64,
    f16,
    bf16,
    f32,
    f64,
    f8e4m3,
    f8e5m2
};

/// How the contributions of all ranks become one value. `mean` divides the sum once, at the end;
/// integers truncate toward zero. `premul_sum` first multiplies each contribution by a factor of
/// its rank (CallOptions::factors). docs/kernels.md has the rules for NaN, overflow and rounding.
enum class ReduceOp : std::uint8_t { sum, mean, prod, min, max, premul_sum };

inline constexpr std::array<ElementType, 12> all_element_types{
    ElementType::i8,  ElementType::u8,  ElementType::i32,    ElementType::u32,
    ElementType::i64, ElementType::u64, ElementType::f16,    ElementType::bf16,
    ElementType::f32, ElementType::f64, ElementType::f8e4m3, ElementType::f8e5m2};
inline constexpr std::array<ReduceOp, 6> all_reduce_ops{ReduceOp::sum,  ReduceOp::mean,
                                                        ReduceOp::prod, ReduceOp::min,
                                                        ReduceOp::max,  ReduceOp::premul_sum};

namespace detail {

inline constexpr std::array<std::string_view, 12> element_names{
    "i8", "u8", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"};
inline constexpr std::array<std::uint8_t, 12> element_sizes{1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1};
inline constexpr std::array<std::string_view, 6> operator_names{"sum", "mean", "prod",
                                                                "min", "max",  "premul_sum"};

template <class Enum, std::size_t size>
Enum parse_name(std::string_view text, const std::array<std::string_view, size>& names,
                const char* what) {
    std::string known;
    for (std::size_t i = 0; i < size; ++i) {
        if (names[i] == text) {
            return static_cast<Enum>(i);
        }
        known += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    throw InvalidArgument("unknown " + std::string(what) + " '" + std::string(text) +
                          "'; it must be one of " + known);
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_no_such(const char* what,
                                                                 std::size_t index) {
    throw InvalidArgument("there is no " + std::string(what) + " with the number " +
                          std::to_string(index));
}

template <class Enum, class Table>
constexpr auto look_up(Enum value, const Table& table, const char* what) {
    const auto index = static_cast<std::size_t>(value);
    if (index >= table.size()) {
        throw_no_such(what, index);
    }
    return table[index];
}

}  // namespace detail

/// Bytes of one element.
inline std::size_t size_of(ElementType type) {
    return detail::look_up(type, detail::element_sizes, "element type");
}

inline std::string_view to_string(ElementType type) {
    return detail::look_up(type, detail::element_names, "element type");
}

inline std::string_view to_string(ReduceOp op) {
    return detail::look_up(op, detail::operator_names, "operator");
}

/// Throws InvalidArgument for a number that is no operator, or no type.
inline void require_valid(ReduceOp op) {
    static_cast<void>(to_string(op));
}
inline void require_valid(ElementType type) {
    static_cast<void>(to_string(type));
}

/// The inverse of to_string(). Throws InvalidArgument that names the text and what is known.
inline ElementType parse_element_type(std::string_view text) {
    return detail::parse_name<ElementType>(text, detail::element_names, "element type");
}

inline ReduceOp parse_reduce_op(std::string_view text) {
    return detail::parse_name<ReduceOp>(text, detail::operator_names, "operator");
}

}  // namespace rondo
