// Which C++ type each element type is computed with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "rondo/types.hpp"

namespace rondo::kernels {

/// In the order of ElementType. void stands for the 16- and 8-bit floats, which are computed with
/// as float.
using PlainTypes = std::tuple<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t,
                              std::uint64_t, void, void, float, double, void, void>;

template <ElementType type>
using PlainType = std::tuple_element_t<static_cast<std::size_t>(type), PlainTypes>;

template <ElementType type>
inline constexpr bool is_narrow = std::is_void_v<PlainType<type>>;

template <ElementType type>
inline constexpr std::size_t element_bytes = detail::element_sizes[static_cast<std::size_t>(type)];

/// The type that a factor of premul_sum has for this element type: its own, or float for narrow
/// floats.
template <ElementType type>
using FactorType = std::conditional_t<is_narrow<type>, float, PlainType<type>>;

}  // namespace rondo::kernels
