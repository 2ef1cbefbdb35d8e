#include "cuda/copy.hpp"

#include <string>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"

namespace rondo::detail {

namespace {

void require_same_size(std::size_t target, std::size_t source) {
    if (target != source) {
        throw InvalidArgument("a copy of " + std::to_string(source) + " bytes to a target of " +
                              std::to_string(target) + " bytes");
    }
}

}  // namespace

void copy_device_to_device(StreamRef stream, DeviceBytes target, ConstDeviceBytes source) {
    require_same_size(target.size, source.size);
    if (target.size == 0) {
        return;
    }
    const DeviceGuard guard(stream.device());
    if (target.device == source.device) {
        check(cudaMemcpyAsync(target.data, source.data, source.size, cudaMemcpyDeviceToDevice,
                              stream.get()),
              "cudaMemcpyAsync");
    } else {
        check(cudaMemcpyPeerAsync(target.data, target.device.value(), source.data,
                                  source.device.value(), source.size, stream.get()),
              "cudaMemcpyPeerAsync");
    }
}

void copy_host_to_device(StreamRef stream, DeviceBytes target, std::span<const std::byte> source) {
    require_same_size(target.size, source.size());
    if (target.size == 0) {
        return;
    }
    const DeviceGuard guard(stream.device());
    check(cudaMemcpyAsync(target.data, source.data(), source.size(), cudaMemcpyHostToDevice,
                          stream.get()),
          "cudaMemcpyAsync");
}

void copy_device_to_host(StreamRef stream, std::span<std::byte> target, ConstDeviceBytes source) {
    require_same_size(target.size(), source.size);
    if (target.empty()) {
        return;
    }
    const DeviceGuard guard(stream.device());
    check(cudaMemcpyAsync(target.data(), source.data, source.size, cudaMemcpyDeviceToHost,
                          stream.get()),
          "cudaMemcpyAsync");
}

void fill_device(StreamRef stream, DeviceBytes target, std::byte value) {
    if (target.size == 0) {
        return;
    }
    const DeviceGuard guard(stream.device());
    check(cudaMemsetAsync(target.data, std::to_integer<int>(value), target.size, stream.get()),
          "cudaMemsetAsync");
}

}  // namespace rondo::detail
