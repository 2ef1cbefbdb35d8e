// The numeric part of merging updates, by Thrust: compiled by nvcc it runs on the device, by g++ on
// the host, where virtual GPUs have their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::training {

/// Workers whose arrays and weights are passed to a kernel by value at a time.
inline constexpr std::size_t merge_group = 32;

struct MergeInputs {
    const float* gradients[merge_group];
    double weights[merge_group];
    std::uint32_t workers;
};

/// sums[i] = (continues ? sums[i] : 0) + the weighted gradients, in order. On the current device's
/// default stream; has ended when it returns.
void accumulate_on_device(const MergeInputs& inputs, bool continues, double* sums,
                          std::size_t count);
/// result[i] = sums[i] / divisor
void finish_on_device(const double* sums, double divisor, float* result, std::size_t count);

void accumulate_on_host(const MergeInputs& inputs, bool continues, double* sums, std::size_t count);
void finish_on_host(const double* sums, double divisor, float* result, std::size_t count);

}  // namespace rondo::training
