// Which parameters are sent together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rondo/training/communicator_sync.hpp"

namespace rondo::training {

using BucketList = std::vector<std::vector<std::size_t>>;

/// Fills buckets in this order of parameters; a bucket is closed when it has reached its size.
BucketList fill_buckets(std::span<const std::size_t> order,
                        std::span<const GradientSlice> parameters, const BucketOptions& options);

/// The last parameter first: the order in which a backward pass usually has them ready.
BucketList first_buckets(std::span<const GradientSlice> parameters, const BucketOptions& options);

/// One bucket made ready: a range of the gradients, or parts to copy together.
struct BucketLayout {
    std::vector<std::size_t> parameters;
    std::size_t count = 0;    ///< elements
    bool contiguous = false;  ///< its parameters are one range of the gradients
    std::size_t offset = 0;   ///< of that range
};

BucketLayout lay_out(const std::vector<std::size_t>& bucket,
                     std::span<const GradientSlice> parameters);

/// Throws InvalidArgument for sizes of 0 and for slices that overlap.
void check_slices(std::span<const GradientSlice> parameters, const BucketOptions& options);

}  // namespace rondo::training
