// Peer access between a set of devices.
#include "cuda/peer.hpp"

#include "cuda/buffer.hpp"
#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "tests/vgpu/cuda_fixture.hpp"

namespace rondo {

namespace {

using PeerTest = test::PeerTest;
using AnyPeersTest = test::CudaTest;

const std::vector<DeviceId> first_two = {DeviceId(0), DeviceId(1)};

TEST_F(PeerTest, both_directions_are_switched_on_and_kernels_use_them) {
    const PeerAccess access = enable_peer_access(first_two);
    EXPECT_TRUE(access.complete());
    EXPECT_THAT(access.enabled, testing::ElementsAre(PeerPair{DeviceId(0), DeviceId(1)},
                                                     PeerPair{DeviceId(1), DeviceId(0)}));
    const DeviceBuffer<std::uint32_t> word(DeviceId(1), 1);
    const DeviceGuard guard(DeviceId(0));
    check(test::launch(test::WriteValue{word.data(), 5}, nullptr));
    EXPECT_NO_THROW(synchronize_device(DeviceId(0)));
}

TEST_F(PeerTest, switching_on_twice_is_fine_and_leaves_no_error) {
    enable_peer_access(first_two);
    EXPECT_TRUE(enable_peer_access(first_two).complete());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(PeerTest, what_somebody_else_switched_on_is_fine_too) {
    test::require(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_TRUE(enable_peer_access(first_two).complete());
}

TEST_F(AnyPeersTest, every_pair_is_either_enabled_or_named_as_unreachable) {
    const auto devices = all_devices();
    const PeerAccess access = enable_peer_access(devices);
    EXPECT_EQ(access.enabled.size() + access.unreachable.size(),
              devices.size() * (devices.size() - 1));
    for (const PeerPair& pair : access.enabled) {
        EXPECT_TRUE(can_access_peer(pair.from, pair.to));
        EXPECT_EQ(peer_attribute(pair, cudaDevP2PAttrAccessSupported), 1);
    }
    for (const PeerPair& pair : access.unreachable) {
        EXPECT_FALSE(can_access_peer(pair.from, pair.to));
    }
    for (const PeerPair& pair : access.enabled) {
        const DeviceGuard guard(pair.from);
        test::require(cudaDeviceDisablePeerAccess(pair.to.value()));
    }
}

TEST_F(AnyPeersTest, a_device_reaches_itself_and_nobody_reaches_the_unknown) {
    EXPECT_TRUE(can_access_peer(DeviceId(0), DeviceId(0)));
    EXPECT_TRUE(enable_peer_access(std::vector{DeviceId(0)}).complete());
    EXPECT_THROW(can_access_peer(DeviceId(0), DeviceId(device_count_)), CudaError);
}

}  // namespace

}  // namespace rondo
