// Bounds of all_to_all, gather and scatter, by hand where that is possible.
#include <gtest/gtest.h>

#include "topology/forest/exchange_bound.hpp"

namespace rondo {
namespace {

double gigabytes(const char* preset, ExchangeKind kind, std::vector<int> gpus = {}, int root = 0) {
    return exchange_bound(load_topology(preset), {.gpus = std::move(gpus), .root = root}, kind)
               .throughput.convert_to<double>() /
           1e9;
}

/// One switch: a GPU sends N - 1 of its N parts over its own links, and so does the root.
TEST(ExchangeBound, OfOneSwitchIsThatOfAGpusLinks) {
    const double links = 370.8;  // hgx_h100, one direction
    EXPECT_NEAR(gigabytes("hgx_h100", ExchangeKind::all_to_all), links * 8 * 8 / 7, 0.1);
    EXPECT_NEAR(gigabytes("hgx_h100", ExchangeKind::gather), links * 8 / 7, 0.1);
    EXPECT_NEAR(gigabytes("hgx_h100", ExchangeKind::scatter, {}, 5), links * 8 / 7, 0.1);
}

/// Two sockets: half of all pairs' data crosses, or what a socket has for the root.
TEST(ExchangeBound, OfTwoSocketsIsThatOfTheLinkBetween) {
    const Topology topology = load_topology("pcie8_2sw");
    const ExchangeBound all = exchange_bound(topology, {}, ExchangeKind::all_to_all);
    // 4 * 4 of 64 parts cross 10 GB/s in each direction.
    EXPECT_NEAR(all.throughput.convert_to<double>() / 1e9, 40, 0.1);
    EXPECT_GT(all.inside.size(), 4u);
    const ExchangeBound gather = exchange_bound(topology, {}, ExchangeKind::gather);
    EXPECT_TRUE(gather.exact);
    EXPECT_NEAR(gather.throughput.convert_to<double>() / 1e9, 12.0 * 8 / 7, 0.1);
}

TEST(ExchangeBound, OfOneGpuIsNone) {
    const Topology topology = load_topology("hgx_h100");
    EXPECT_TRUE(exchange_bound(topology, {.gpus = {3}, .root = 3}, ExchangeKind::gather).unlimited);
    EXPECT_THROW(exchange_bound(topology, {.gpus = {1, 2}, .root = 3}, ExchangeKind::gather),
                 ForestError);
}

/// More GPUs than all cuts can be looked at for.
TEST(ExchangeBound, OfManyGpusLooksAtCutsBetweenPairs) {
    EXPECT_NEAR(gigabytes("dgx2_v100", ExchangeKind::all_to_all), 120 * 16 * 16 / 15., 0.1);
    EXPECT_GT(gigabytes("dgx_a100_x2", ExchangeKind::all_to_all), 100);
    // 8 * 8 of 256 parts go from one half to the other; the best flow is within 1 % of that.
    EXPECT_NEAR(gigabytes("mi250_16gcd", ExchangeKind::all_to_all), 864, 0.1);
    EXPECT_GT(gigabytes("gb200_nvl72_1sw", ExchangeKind::all_to_all), 1000);
}

}  // namespace
}  // namespace rondo
