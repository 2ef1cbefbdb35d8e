// Which C++ type stands for which element type.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "rondo/types.hpp"

namespace rondo {

namespace detail {

template <class T>
struct ElementOf {
    static_assert(
        !sizeof(T),
        "Rondo has no element type for this C++ type. It knows int8_t to uint64_t, float, "
        "double, __half, __nv_bfloat16, __nv_fp8_e4m3 and __nv_fp8_e5m2.");
};
template <ElementType value>
using Element = std::integral_constant<ElementType, value>;
template <>
struct ElementOf<std::int8_t> : Element<ElementType::i8> {};
template <>
struct ElementOf<std::uint8_t> : Element<ElementType::u8> {};
template <>
struct ElementOf<std::int32_t> : Element<ElementType::i32> {};
template <>
struct ElementOf<std::uint32_t> : Element<ElementType::u32> {};
template <>
struct ElementOf<std::int64_t> : Element<ElementType::i64> {};
template <>
struct ElementOf<std::uint64_t> : Element<ElementType::u64> {};
// Integers that are spelt differently and are the same to a device.
template <>
struct ElementOf<char> : Element<std::is_signed_v<char> ? ElementType::i8 : ElementType::u8> {};
template <>
struct ElementOf<long long> : Element<ElementType::i64> {};
template <>
struct ElementOf<unsigned long long> : Element<ElementType::u64> {};
template <>
struct ElementOf<__half> : Element<ElementType::f16> {};
template <>
struct ElementOf<__nv_bfloat16> : Element<ElementType::bf16> {};
template <>
struct ElementOf<float> : Element<ElementType::f32> {};
template <>
struct ElementOf<double> : Element<ElementType::f64> {};
template <>
struct ElementOf<__nv_fp8_e4m3> : Element<ElementType::f8e4m3> {};
template <>
struct ElementOf<__nv_fp8_e5m2> : Element<ElementType::f8e5m2> {};

}  // namespace detail

template <class T>
inline constexpr ElementType element_type_of = detail::ElementOf<std::remove_const_t<T>>::value;

}  // namespace rondo
