// Units of the files against units of the value: decimal GB/s and binary GiB, without rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo {

/// The nearest whole number of bytes per second; nothing if that is not representable. Exact for
/// decimals with up to nine places, because 15 digits survive a double.
std::optional<std::int64_t> bytes_per_second(double gigabytes_per_second);

/// The double that prints as the exact decimal, for bandwidths up to 10^15 bytes per second.
double gigabytes_per_second(std::int64_t bytes_per_second);

/// The nearest whole number of bytes; nothing if negative, not a number or huge.
std::optional<std::uint64_t> bytes_of_gibibytes(double gibibytes);

/// Exact below 2^53 bytes.
double gibibytes(std::uint64_t bytes);

/// The shortest decimal that reads back as the same double.
std::string shortest(double value);

}  // namespace rondo
