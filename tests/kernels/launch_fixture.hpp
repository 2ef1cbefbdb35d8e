// Devices, streams and buffers for tests that launch kernels on several devices.
#pragma once

#include <algorithm>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "cuda/peer.hpp"
#include "cuda/stream.hpp"
#include "kernels/launch.hpp"

namespace rondo::test {

template <class T>
void write(StreamRef stream, const DeviceBuffer<T>& to, const std::vector<T>& values) {
    copy(stream, to.span(), std::span<const T>(values));
    stream.synchronize();
}

template <class T>
std::vector<T> read(StreamRef stream, const DeviceBuffer<T>& from) {
    std::vector<T> values(from.size());
    copy(stream, std::span<T>(values), DeviceSpan<const T>(from));
    stream.synchronize();
    return values;
}

/// Up to eight devices that all reach each other, with peer access enabled and a stream on each.
/// Skipped without a GPU.
class LaunchTest : public testing::Test {
protected:
    void SetUp() override {
        int count = 0;
        if (const cudaError_t status = cudaGetDeviceCount(&count);
            status != cudaSuccess || count == 0) {
            GTEST_SKIP() << "no GPU: " << cudaGetErrorString(status);
        }
        for (int device = 0; device < std::min(count, 8); ++device) {
            devices_.emplace_back(device);
            streams_.emplace_back(DeviceId(device));
        }
        if (!enable_peer_access(devices_).complete()) {
            GTEST_SKIP() << "the devices do not all reach each other";
        }
    }

    std::size_t ranks() const { return devices_.size(); }

    std::vector<DeviceId> devices_;
    std::vector<Stream> streams_;
};

}  // namespace rondo::test
