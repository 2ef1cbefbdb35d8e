// How the flags that no program names are called in failure records.
#pragma once

#include <cstdint>

namespace rondo::kernels {

inline constexpr std::uint32_t first_program_flag = 1u << 16;  ///< below: the entry of that rank
inline constexpr std::uint32_t go_flag_number = ~0u;           ///< the other lanes wait for lane 0

}  // namespace rondo::kernels
