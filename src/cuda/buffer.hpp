// Buffers that own memory: on a device, on a device in stream order, and pinned on the host.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "cuda/device_span.hpp"
#include "cuda/memory.hpp"
#include "cuda/stream.hpp"

namespace rondo {

/// What may live in device memory: it is copied as bytes and its destructor does nothing.
template <class T>
concept DeviceElement = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;

/// What all buffers are: a size and memory with the way to give it back. Move-only; a moved-from
/// buffer may only be assigned or destroyed.
template <DeviceElement Element, class Free>
class OwnedMemory {
public:
    Element* data() const noexcept { return memory_.get(); }
    std::size_t size() const noexcept { return size_; }
    std::size_t size_bytes() const noexcept { return size_ * sizeof(Element); }

protected:
    OwnedMemory(void* pointer, std::size_t count, Free free) noexcept
        : memory_(static_cast<Element*>(pointer), free), size_(count) {}
    const Free& free() const noexcept { return memory_.get_deleter(); }

private:
    std::unique_ptr<Element, Free> memory_;
    std::size_t size_;
};

/// Owns uninitialised memory of one device. Freeing it may synchronise the device.
template <DeviceElement Element>
class DeviceBuffer : public OwnedMemory<Element, memory::FreeDevice> {
public:
    DeviceBuffer(DeviceId device, std::size_t count)
        : DeviceBuffer::OwnedMemory(
              memory::allocate_device(device, memory::bytes_for(count, sizeof(Element))), count,
              {device}) {}

    DeviceId device() const noexcept { return this->free().device; }
    DeviceSpan<Element> span() const noexcept { return {device(), this->data(), this->size()}; }
    operator DeviceSpan<Element>() const noexcept { return span(); }
    operator DeviceSpan<const Element>() const noexcept { return span(); }
};

/// Owns memory from the pool of a stream's device. It exists from the stream's point of
/// construction to its point of destruction: work in other streams must be ordered after the first
/// and before the second. Peers see it only after cudaMemPoolSetAccess. The stream must outlive the
/// buffer.
template <DeviceElement Element>
class AsyncBuffer : public OwnedMemory<Element, memory::FreeAsync> {
public:
    AsyncBuffer(StreamRef stream, std::size_t count)
        : AsyncBuffer::OwnedMemory(
              memory::allocate_async(stream, memory::bytes_for(count, sizeof(Element))), count,
              {stream}) {}

    DeviceId device() const noexcept { return stream().device(); }
    StreamRef stream() const noexcept { return this->free().stream; }
    DeviceSpan<Element> span() const noexcept { return {device(), this->data(), this->size()}; }
    operator DeviceSpan<Element>() const noexcept { return span(); }
    operator DeviceSpan<const Element>() const noexcept { return span(); }
};

/// Owns page-locked host memory that every device can reach, zero at first. While a kernel runs, it
/// and the host see each other's stores only through system-scope atomics.
template <DeviceElement Element>
class PinnedBuffer : public OwnedMemory<Element, memory::FreePinned> {
public:
    PinnedBuffer(DeviceId device, std::size_t count)
        : PinnedBuffer::OwnedMemory(
              memory::allocate_pinned(device, memory::bytes_for(count, sizeof(Element))), count,
              {device}) {
        std::uninitialized_value_construct_n(this->data(), count);
    }

    DeviceId device() const noexcept { return this->free().device; }
    std::span<Element> span() const noexcept { return {this->data(), this->size()}; }
    Element& operator[](std::size_t index) const noexcept { return this->data()[index]; }

    /// The same memory as kernels on that device see it.
    DeviceSpan<Element> device_span(DeviceId device) const {
        return {device, static_cast<Element*>(memory::device_pointer(device, this->data())),
                this->size()};
    }
    DeviceSpan<Element> device_span() const { return device_span(device()); }
};

}  // namespace rondo
