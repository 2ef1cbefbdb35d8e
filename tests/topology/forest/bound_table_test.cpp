// The best all_reduce throughput of known machines, against figures computed by other programs.
#include <gtest/gtest.h>

#include "tests/topology/forest/support.hpp"

namespace rondo::testing {
namespace {

struct Row {
    const char* preset;
    LinkFilter links;
    double nccl;
    double nominal;
};

/// GB/s. In all of these equal root shares are as good as any.
const Row rows[] = {
    {"dgx1_p100", LinkFilter::nvlink, 41.14, 45.71},
    {"dgx1_v100", LinkFilter::nvlink, 68.57, 85.71},
    {"dgx1_v100", LinkFilter::all, 75.43, 94.72},
    {"dgx2_v100", LinkFilter::all, 64.00, 80.00},
    {"dgx_a100", LinkFilter::all, 137.14, 171.43},
    {"hgx_h100", LinkFilter::all, 211.89, 257.14},
    {"gb200_nvl72_1sw", LinkFilter::all, 365.98, 456.34},
    {"pcie8_2sw", LinkFilter::all, 6.86, 9.00},
    {"pcie8_4sw", LinkFilter::all, 6.86, 9.00},
    {"pcie4_nop2p", LinkFilter::all, 8.00, 10.50},
    {"mi250_16gcd", LinkFilter::all, 123.43, 171.43},
    {"dgx_a100_x2", LinkFilter::all, 140.80, 173.33},
    {"dgx_a100_x4", LinkFilter::all, 128.00, 133.33},
};

void expect_row(const Row& row, BandwidthModel model, double expected) {
    const Topology topology = load_topology(row.preset);
    const ForestRequest request{.model = model, .links = row.links};
    const Bound bound = forest_bound(topology, request);
    EXPECT_NEAR(gigabytes(bound.throughput), expected, 0.005);
    EXPECT_NEAR(gigabytes(bound.equal_shares), expected, 0.005);
    EXPECT_TRUE(bound.exact()) << bound.note;
    EXPECT_EQ(proven_bound(topology, request, bound.certificate), bound.proven);
}

TEST(ForestBoundTable, NcclModel) {
    for (const Row& row : rows) {
        SCOPED_TRACE(row.preset);
        expect_row(row, BandwidthModel::nccl, row.nccl);
    }
}

TEST(ForestBoundTable, NominalBandwidths) {
    for (const Row& row : rows) {
        SCOPED_TRACE(row.preset);
        expect_row(row, BandwidthModel::nominal, row.nominal);
    }
}

TEST(ForestBoundTable, ValuesAreExactFractions) {
    const Bound bound = forest_bound(load_topology("dgx1_v100"), {.links = LinkFilter::nvlink});
    EXPECT_EQ(bound.throughput, Rational(480 * giga) / 7);
}

}  // namespace
}  // namespace rondo::testing
