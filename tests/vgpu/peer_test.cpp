// Peer access: asking, enabling, disabling, using.
// Rules: CUDA Runtime API, "Peer Device Memory Access"; Programming Guide, "Peer-to-Peer Memory
// Access".
#include "tests/vgpu/cuda_fixture.hpp"

namespace test {

namespace {

using PeerQueryTest = CudaTest;

int p2p(cudaDeviceP2PAttr attribute, int from, int to) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, attribute, from, to), cudaSuccess);
    return value;
}

bool can_access(int from, int to) {
    int answer = -1;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&answer, from, to), cudaSuccess);
    EXPECT_TRUE(answer == 0 || answer == 1);
    return answer == 1;
}

// cudaDeviceCanAccessPeer: "1 if device is capable of directly accessing memory from peerDevice and
// 0 otherwise"; cudaDevP2PAttrAccessSupported says the same.
TEST_F(PeerQueryTest, can_access_peer_agrees_with_the_p2p_attribute_for_all_pairs) {
    for (int from = 0; from < device_count_; ++from) {
        for (int to = 0; to < device_count_; ++to) {
            if (from != to) {
                EXPECT_EQ(can_access(from, to), p2p(cudaDevP2PAttrAccessSupported, from, to) == 1);
                EXPECT_GE(p2p(cudaDevP2PAttrPerformanceRank, from, to), 0);
                EXPECT_GE(p2p(cudaDevP2PAttrNativeAtomicSupported, from, to), 0);
            }
        }
    }
}

// cudaDeviceCanAccessPeer, cudaDeviceGetP2PAttribute: cudaErrorInvalidDevice, also for one and the
// same device; cudaErrorInvalidValue for an unknown attribute or a null pointer.
TEST_F(PeerQueryTest, queries_reject_what_does_not_exist) {
    int value = 0;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&value, 0, device_count_), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceCanAccessPeer(&value, -1, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, device_count_),
              cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0),
              cudaErrorInvalidDevice);
    if (device_count_ > 1) {
        EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, static_cast<cudaDeviceP2PAttr>(7), 0, 1),
                  cudaErrorInvalidValue);
        EXPECT_EQ(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 1),
                  cudaErrorInvalidValue);
    }
    cudaGetLastError();
}

TEST_F(PeerQueryTest, a_device_is_not_its_own_peer) {
    EXPECT_FALSE(can_access(0, 0));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(device_count_, 0), cudaErrorInvalidDevice);
    cudaGetLastError();
}

// cudaDeviceEnablePeerAccess: "Returns cudaErrorInvalidDevice if cudaDeviceCanAccessPeer()
// indicates that the current device cannot directly access memory from peerDevice.";
// cudaErrorPeerAccessUnsupported: "P2P access is not supported across the given devices".
TEST_F(PeerQueryTest, enabling_what_is_impossible_is_an_error) {
    for (int from = 0; from < device_count_; ++from) {
        const CurrentDevice current(from);
        for (int to = 0; to < device_count_; ++to) {
            if (from != to && !can_access(from, to)) {
                EXPECT_THAT(cudaDeviceEnablePeerAccess(to, 0),
                            testing::AnyOf(cudaErrorInvalidDevice, cudaErrorPeerAccessUnsupported))
                    << from << " " << to;
            }
        }
    }
    cudaGetLastError();
}

// cudaDeviceEnablePeerAccess: cudaErrorPeerAccessAlreadyEnabled; cudaDeviceDisablePeerAccess:
// cudaErrorPeerAccessNotEnabled.
TEST_F(PeerTest, enabling_twice_and_disabling_twice_have_their_own_errors) {
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(cudaGetLastError(), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    EXPECT_EQ(cudaGetLastError(), cudaErrorPeerAccessNotEnabled);
}

// "Returns cudaErrorInvalidValue if flags is not 0."
TEST_F(PeerTest, flags_must_be_zero) {
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    cudaGetLastError();
}

// "all allocations from peerDevice will immediately be accessible by the current device": old and
// new ones.
TEST_F(PeerTest, kernels_read_and_write_memory_of_the_peer_allocated_before_and_after) {
    require(cudaSetDevice(1));
    const DeviceWords before;
    before.write({10});
    require(cudaSetDevice(0));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
    require(cudaSetDevice(1));
    const DeviceWords after;
    require(cudaSetDevice(0));
    EXPECT_EQ(launch(CopyWords{after.data(), before.data(), 1, 5}, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(after.read(0), 15u);
}

// "access granted by this call is unidirectional".
TEST_F(PeerTest, access_is_enabled_for_each_direction) {
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
}

// cudaPointerGetAttributes: devicePointer is null while the current device can't access the memory.
TEST_F(PeerTest, the_device_pointer_of_peer_memory_appears_with_access) {
    require(cudaSetDevice(1));
    const DeviceWords word;
    require(cudaSetDevice(0));
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, word.data()), cudaSuccess);
    EXPECT_EQ(attributes.devicePointer, nullptr);
    require(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, word.data()), cudaSuccess);
    EXPECT_EQ(attributes.devicePointer, word.data());
}

TEST_F(PeerTest, copies_between_peers_work_with_access_too) {
    require(cudaDeviceEnablePeerAccess(1, 0));
    const DeviceWords first(100);
    first.write(std::vector<std::uint32_t>(100, 3));
    require(cudaSetDevice(1));
    require(cudaDeviceEnablePeerAccess(0, 0));
    const DeviceWords second(100);
    const Stream stream;
    EXPECT_EQ(cudaMemcpyPeerAsync(second.data(), 1, first.data(), 0, 400, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(second.read(), testing::Each(3));
}

// cudaDeviceEnablePeerAccess: accessible "until ... either device is reset using
// cudaDeviceReset()".
TEST_F(PeerTest, reset_of_the_device_ends_its_access) {
    require(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
}

TEST_F(PeerTest, reset_of_the_peer_ends_access_to_it) {
    require(cudaDeviceEnablePeerAccess(1, 0));
    require(cudaSetDevice(1));
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    require(cudaSetDevice(0));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess) << "it is not enabled any more";
}

// System-scope flags work across peers: a kernel on each device, each waiting for the other.
TEST_F(PeerTest, kernels_of_two_devices_meet_through_flags_in_each_others_memory) {
    const DeviceWords first(2);
    const Stream stream_of_first;
    require(cudaDeviceEnablePeerAccess(1, 0));
    require(cudaSetDevice(1));
    require(cudaDeviceEnablePeerAccess(0, 0));
    const DeviceWords second(2);
    const Stream stream_of_second;
    EXPECT_EQ(launch(Meet{first.data(), second.data(), second.data() + 1}, stream_of_second),
              cudaSuccess);
    require(cudaSetDevice(0));
    EXPECT_EQ(launch(Meet{second.data(), first.data(), first.data() + 1}, stream_of_first),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_of_first), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_of_second), cudaSuccess);
    EXPECT_EQ(first.read(1), outcome_ready);
    EXPECT_EQ(second.read(1), outcome_ready);
}

}  // namespace

}  // namespace test
