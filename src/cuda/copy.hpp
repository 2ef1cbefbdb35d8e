// Copies and fills. Each names the stream it runs in; none waits. Sizes must agree.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "cuda/device_span.hpp"
#include "cuda/stream.hpp"

namespace rondo {

namespace detail {

struct DeviceBytes {
    DeviceId device;
    void* data;
    std::size_t size;
};

struct ConstDeviceBytes {
    DeviceId device;
    const void* data;
    std::size_t size;
};

void copy_device_to_device(StreamRef stream, DeviceBytes target, ConstDeviceBytes source);
void copy_host_to_device(StreamRef stream, DeviceBytes target, std::span<const std::byte> source);
void copy_device_to_host(StreamRef stream, std::span<std::byte> target, ConstDeviceBytes source);
void fill_device(StreamRef stream, DeviceBytes target, std::byte value);

template <class Element>
DeviceBytes bytes(DeviceSpan<Element> span) {
    return {span.device(), span.data(), span.size_bytes()};
}

template <class Element>
ConstDeviceBytes const_bytes(DeviceSpan<Element> span) {
    return {span.device(), span.data(), span.size_bytes()};
}

}  // namespace detail

/// Device to device; both may be any device. Without peer access between them CUDA stages the data
/// through the host.
template <class Element>
void copy(StreamRef stream, DeviceSpan<Element> target,
          DeviceSpan<const std::type_identity_t<Element>> source) {
    detail::copy_device_to_device(stream, detail::bytes(target), detail::const_bytes(source));
}

/// Host to device. The source must stay as it is until the stream has passed the copy.
template <class Element>
void copy(StreamRef stream, DeviceSpan<Element> target,
          std::span<const std::type_identity_t<Element>> source) {
    detail::copy_host_to_device(stream, detail::bytes(target), std::as_bytes(source));
}

/// Device to host. The data is there when the stream has passed the copy.
template <class Element>
void copy(StreamRef stream, std::span<Element> target,
          DeviceSpan<const std::type_identity_t<Element>> source) {
    detail::copy_device_to_host(stream, std::as_writable_bytes(target),
                                detail::const_bytes(source));
}

/// Sets every byte.
template <class Element>
void fill_bytes(StreamRef stream, DeviceSpan<Element> target, std::byte value) {
    detail::fill_device(stream, detail::bytes(target), value);
}

}  // namespace rondo
