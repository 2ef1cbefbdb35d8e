// Tensors on devices, as the collectives take and return them.
//
//     auto weights = rondo::Tensor<float>::allocate(device, 1000);   // owns memory of one device
//     rondo::PerReplica<float> gradients(tensors);                   // one tensor per rank
//     rondo::Mirrored<float> mean = comm.reduce(rondo::ReduceOp::mean, gradients, {0, 1});
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rondo/cuda_error.hpp"
#include "rondo/element.hpp"
#include "rondo/export.hpp"

namespace rondo {

namespace detail {

/// Device memory that is freed with its last owner. Throws CudaError when there is no more.
RONDO_API std::shared_ptr<void> allocate_device_memory(int device, std::size_t bytes);

}  // namespace detail

/// Elements in the memory of one device. Copies share them, and the last copy frees memory that
/// allocate() made. Costs no CUDA call but for allocate() and the last destructor, which call
/// cudaMalloc and cudaFree; cudaFree may wait for the device.
///
///     rondo::Tensor<float> mine(device, pointer, count);            // memory that you own
///     auto owned = rondo::Tensor<float>::allocate(device, count);   // memory that it owns
template <class T>
class Tensor {
public:
    /// Refers to memory of `device` that somebody else owns, and that must outlive all calls.
    /// Nothing is checked here: calls check what CUDA knows about the pointer.
    Tensor(int device, T* data, std::size_t size) : device_(device), data_(data), size_(size) {}
    /// Allocates uninitialised memory. Throws CudaError if the device has too little, and
    /// InvalidArgument if there are not so many addresses.
    static Tensor allocate(int device, std::size_t size) requires(!std::is_const_v<T>) {
        if (size > static_cast<std::size_t>(-1) / sizeof(T)) {
            throw InvalidArgument("a tensor can't have " + std::to_string(size) + " elements");
        }
        auto memory = detail::allocate_device_memory(device, size * sizeof(T));
        Tensor tensor(device, static_cast<T*>(memory.get()), size);
        tensor.owner_ = std::move(memory);
        return tensor;
    }
    /// The same elements, read-only.
    template <class Other>
    requires(std::is_same_v<const Other, T>) Tensor(const Tensor<Other>& other)
        : device_(other.device()),
          data_(other.data()),
          size_(other.size()),
          owner_(other.owner()) {}

    int device() const { return device_; }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }  ///< elements, not bytes
    /// Keeps the memory alive; null if the tensor does not own it.
    const std::shared_ptr<void>& owner() const { return owner_; }

private:
    int device_;
    T* data_;
    std::size_t size_;
    std::shared_ptr<void> owner_;
};

/// One tensor per device, in the order of the communicator's ranks: gradients of data-parallel
/// workers, for example. The tensors may hold different values.
///
///     comm.all_reduce(rondo::ReduceOp::sum, rondo::PerReplica<float>{on_gpu_0, on_gpu_1});
template <class T>
class PerReplica {
public:
    PerReplica() = default;
    explicit PerReplica(std::vector<Tensor<T>> values) : values_(std::move(values)) {}
    PerReplica(std::initializer_list<Tensor<T>> values) : values_(values) {}
    template <class Other>
    requires(std::is_same_v<const Other, T>) PerReplica(const PerReplica<Other>& other)
        : values_(other.begin(), other.end()) {}

    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    const Tensor<T>& operator[](std::size_t replica) const { return values_[replica]; }
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }

private:
    std::vector<Tensor<T>> values_;
};

/// The same value on each of its devices: what reduce() and broadcast() return.
template <class T>
class Mirrored {
public:
    Mirrored() = default;
    explicit Mirrored(std::vector<Tensor<T>> values) : values_(std::move(values)) {}

    std::size_t size() const { return values_.size(); }
    const Tensor<T>& operator[](std::size_t component) const { return values_[component]; }
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }
    /// The copy on this device. Throws InvalidArgument if there is none.
    const Tensor<T>& on_device(int device) const {
        for (const Tensor<T>& value : values_) {
            if (value.device() == device) return value;
        }
        throw InvalidArgument("this value is not on device " + std::to_string(device));
    }

private:
    std::vector<Tensor<T>> values_;
};

/// Where results go: devices by number, or the devices of a value.
///
///     comm.reduce(op, gradients, 0);             // to device 0
///     comm.reduce(op, gradients, {0, 1});        // to two devices
///     comm.reduce(op, gradients, gradients);     // to where they come from
class Destinations {
public:
    Destinations(int device) : devices_{device} {}
    Destinations(std::initializer_list<int> devices) : devices_(devices) {}
    explicit Destinations(std::vector<int> devices) : devices_(std::move(devices)) {}
    template <class T>
    Destinations(const Tensor<T>& tensor) : devices_{tensor.device()} {}
    template <class T>
    Destinations(const PerReplica<T>& value) {
        for (const auto& tensor : value) devices_.push_back(tensor.device());
    }
    template <class T>
    Destinations(const Mirrored<T>& value) {
        for (const auto& tensor : value) devices_.push_back(tensor.device());
    }

    const std::vector<int>& devices() const { return devices_; }

private:
    std::vector<int> devices_;
};

}  // namespace rondo
