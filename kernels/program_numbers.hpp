// How the flags that no program names are called in failure records.
#pragma once

#include <cstdint>

#include "kernels/program.hpp"

namespace rondo::kernels {

/// Below it: the arrival of that rank. From it on: the arrival of the sender and of the receiver of
/// each ordered pair of ranks.
inline constexpr std::uint32_t first_pair_flag = max_ranks;
inline constexpr std::uint32_t first_program_flag = first_pair_flag + 2 * max_ranks * max_ranks;
inline constexpr std::uint32_t go_flag_number = ~0u;  ///< the other blocks wait for block 0

}  // namespace rondo::kernels
