// See the header.
#include "training/sync/buckets.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace rondo::training {

BucketList fill_buckets(std::span<const std::size_t> order,
                        std::span<const GradientSlice> parameters, const BucketOptions& options) {
    BucketList buckets;
    std::size_t bytes = 0;
    bool open = false;
    for (const std::size_t parameter : order) {
        if (!open) {
            buckets.emplace_back();
            bytes = 0;
            open = true;
        }
        buckets.back().push_back(parameter);
        bytes += parameters[parameter].size * sizeof(float);
        open = bytes < (buckets.size() == 1 ? options.first_bucket_bytes : options.bucket_bytes);
    }
    return buckets;
}

BucketList first_buckets(std::span<const GradientSlice> parameters, const BucketOptions& options) {
    if (!options.order.empty()) return fill_buckets(options.order, parameters, options);
    std::vector<std::size_t> order(parameters.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    return fill_buckets(order, parameters, options);
}

BucketLayout lay_out(const std::vector<std::size_t>& bucket,
                     std::span<const GradientSlice> parameters) {
    BucketLayout layout{.parameters = bucket};
    std::size_t first = static_cast<std::size_t>(-1), last = 0;
    for (const std::size_t p : bucket) {
        const GradientSlice& slice = parameters[p];
        layout.count += slice.size;
        if (slice.size == 0) continue;
        first = std::min(first, slice.offset);
        last = std::max(last, slice.offset + slice.size);
    }
    layout.contiguous = layout.count == 0 || last - first == layout.count;
    layout.offset = layout.count == 0 ? 0 : first;
    return layout;
}

void check_slices(std::span<const GradientSlice> parameters, const BucketOptions& options) {
    if (options.bucket_bytes == 0 || options.first_bucket_bytes == 0) {
        throw InvalidArgument(fmt::format("buckets of {} bytes, the first of {}, can't be filled",
                                          options.bucket_bytes, options.first_bucket_bytes));
    }
    std::vector<std::size_t> numbers = options.order;
    std::ranges::sort(numbers);
    for (std::size_t i = 0; i < std::max(numbers.size(), parameters.size()); ++i) {
        if (numbers.empty()) break;
        if (numbers.size() != parameters.size() || numbers[i] != i) {
            throw InvalidArgument(
                fmt::format("the order of {} gradients does not have each of {} parameters once",
                            numbers.size(), parameters.size()));
        }
    }
    std::vector<const GradientSlice*> order;
    for (const GradientSlice& slice : parameters) order.push_back(&slice);
    std::ranges::sort(order, std::less<>(), [](const GradientSlice* s) { return s->offset; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (order[i - 1]->offset + order[i - 1]->size > order[i]->offset) {
            throw InvalidArgument(fmt::format("the gradients of '{}' and '{}' overlap",
                                              order[i - 1]->name, order[i]->name));
        }
    }
}

}  // namespace rondo::training
