// A view of elements that live in the memory of a named device.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "cuda/device.hpp"
#include "rondo/error.hpp"

namespace rondo {

/// Does not own. The host must not dereference data().
template <class Element>
class DeviceSpan {
public:
    DeviceSpan(DeviceId device, Element* data, std::size_t size) noexcept
        : device_(device), data_(data), size_(size) {}

    /// A span of const elements from one of mutable elements.
    template <class Other>
    requires(std::is_same_v<Element, const Other>) DeviceSpan(DeviceSpan<Other> other)
    noexcept : DeviceSpan(other.device(), other.data(), other.size()) {}

    DeviceId device() const noexcept { return device_; }
    Element* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::size_t size_bytes() const noexcept { return size_ * sizeof(Element); }
    bool empty() const noexcept { return size_ == 0; }

    /// Throws InvalidArgument unless the part lies inside.
    DeviceSpan subspan(std::size_t offset, std::size_t count) const {
        if (offset > size_ || count > size_ - offset) {
            throw InvalidArgument("elements " + std::to_string(offset) + " to " +
                                  std::to_string(offset) + " + " + std::to_string(count) +
                                  " of a span of " + std::to_string(size_));
        }
        return {device_, data_ + offset, count};
    }

private:
    DeviceId device_;
    Element* data_;
    std::size_t size_;
};

}  // namespace rondo
