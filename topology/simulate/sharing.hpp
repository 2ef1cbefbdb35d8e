// How concurrent transfers share what they use: max-min fair.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rondo::simulation {

/// What one transfer asks of the machine per byte of its chunk.
struct Demand {
    /// Resource and how many bytes of it one byte of the chunk takes, each resource once.
    std::vector<std::pair<std::uint32_t, double>> uses = {};
    double ceiling = 0;  ///< bytes per second that it can't exceed
};

/// All transfers grow at the same rate until a resource that they use is full or their ceiling is
/// reached; those stop, the others grow on. Keeps its memory from call to call.
class FairSharing {
public:
    /// Bytes per second of each resource.
    explicit FairSharing(std::vector<double> capacities);

    /// The rate of each transfer, in their order.
    const std::vector<double>& rates(std::span<const Demand* const> transfers);

private:
    void find_users(std::span<const Demand* const> transfers);
    void settle(std::span<const Demand* const> transfers, std::uint32_t transfer, double rate);

    const std::vector<double> capacities_;
    std::vector<double> left_;    ///< of each resource
    std::vector<double> weight_;  ///< of the transfers on it that still grow
    std::vector<std::uint32_t> first_user_;
    std::vector<std::uint32_t> users_;
    std::vector<std::uint32_t> used_;  ///< resources that anybody uses
    std::vector<std::uint32_t> by_ceiling_;
    std::vector<double> rates_;
};

}  // namespace rondo::simulation
