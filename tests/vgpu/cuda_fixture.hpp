// What all CUDA semantics tests stand on: a fixture that needs a device, and handles that clean up
// after themselves. Nothing here knows which runtime is below; on NVIDIA's runtime without a GPU
// every test is skipped with the reason.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <source_location>
#include <vector>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/vgpu/test_kernels.hpp"

/// GoogleTest prints "cudaErrorInvalidValue (1)" instead of "1". Found by argument lookup, so it
/// must be global.
void PrintTo(cudaError_t status, std::ostream* out);

namespace test {

/// For set-up steps that the test is not about: throws, which ends the test as a failure.
void require(cudaError_t status, std::source_location where = std::source_location::current());

/// What the runtime knows about the pointer.
cudaPointerAttributes attributes_of(const void* pointer);

/// Runs `condition` until it holds; false after `limit`. For effects that arrive by themselves.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(20));

/// Whether work in different streams is sure to run at the same time. CUDA does not promise it:
/// with few hardware queues (vgpu's hostile mode) streams may wait for each other.
bool streams_are_independent();
/// Whether calls wait for no more than the documentation says. vgpu's hostile mode synchronises
/// wherever a driver might.
bool calls_wait_only_as_documented();

/// Device 0 is current, all kernels are loaded on the first two devices, no error is pending.
class CudaTest : public testing::Test {
protected:
    void SetUp() override;
    /// All work is done and left no error behind.
    void TearDown() override;

    int device_count_ = 0;
};

/// Needs two devices; skipped otherwise.
class TwoDeviceTest : public CudaTest {
protected:
    void SetUp() override;
};

/// Needs devices 0 and 1 that reach each other; peer access is off at the start and at the end.
class PeerTest : public TwoDeviceTest {
protected:
    void SetUp() override;
    void TearDown() override;
};

/// Needs streams that run at the same time.
class ConcurrentTest : public CudaTest {
protected:
    void SetUp() override;
};

class Stream {
public:
    explicit Stream(unsigned flags = cudaStreamNonBlocking) {
        require(cudaStreamCreateWithFlags(&handle_, flags));
    }
    ~Stream() { cudaStreamDestroy(handle_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return handle_; }

private:
    cudaStream_t handle_ = nullptr;
};

class Event {
public:
    explicit Event(unsigned flags = cudaEventDefault) {
        require(cudaEventCreateWithFlags(&handle_, flags));
    }
    ~Event() { cudaEventDestroy(handle_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return handle_; }

private:
    cudaEvent_t handle_ = nullptr;
};

/// For reads and writes that must not depend on what the test does with the default stream or with
/// capture.
class CopyStream {
public:
    void copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) const;
    void clear(void* target, std::size_t bytes) const;

private:
    Stream stream_;
};

/// Words in the memory of the current device, zero at first.
class DeviceWords {
public:
    explicit DeviceWords(std::size_t count = 1);
    ~DeviceWords() { cudaFree(data_); }
    DeviceWords(const DeviceWords&) = delete;
    DeviceWords& operator=(const DeviceWords&) = delete;

    std::uint32_t* data() const { return data_; }
    std::size_t bytes() const { return count_ * sizeof(std::uint32_t); }
    /// Copies back through a stream of its own: waits for nothing, so synchronise what wrote them
    /// first.
    std::vector<std::uint32_t> read() const;
    std::uint32_t read(std::size_t index) const { return read().at(index); }
    void write(const std::vector<std::uint32_t>& values) const;

private:
    std::uint32_t* data_ = nullptr;
    std::size_t count_;
    CopyStream stream_;  // made at the start: making one may wait for the device
};

/// Words of pinned, mapped and portable host memory, zero at first.
class PinnedWords {
public:
    explicit PinnedWords(std::size_t count = 1);
    ~PinnedWords() { cudaFreeHost(data_); }
    PinnedWords(const PinnedWords&) = delete;
    PinnedWords& operator=(const PinnedWords&) = delete;

    std::uint32_t* data() const { return data_; }
    std::size_t bytes() const { return count_ * sizeof(std::uint32_t); }
    /// The address for kernels on the current device.
    std::uint32_t* device_data() const;
    std::uint32_t load(std::size_t index = 0) const;
    void store(std::uint32_t value, std::size_t index = 0) const;

private:
    std::uint32_t* data_ = nullptr;
    std::size_t count_;
};

/// Holds a stream of the current device until open(): a kernel that waits for a word of host
/// memory. Declare it after everything that is freed at the end of the test: freeing may wait for
/// the device, and its destructor opens it.
class Gate {
public:
    Gate() = default;
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// The stream goes no further than here.
    void close(cudaStream_t stream);
    void open() const { words_.store(1, 0); }
    /// Blocks until the kernel runs, which shows that all earlier work of the stream is done. False
    /// after 20 s.
    bool reached() const;
    /// Whether the kernel left the gate because it was opened, not because it was tired of waiting.
    bool passed() const { return words_.load(2) == outcome_ready; }

private:
    PinnedWords words_{3};  // open, reached, outcome
    bool closed_ = false;
};

/// A latch that a host function blocks on, with the same rules as Gate.
class HostGate {
public:
    HostGate() = default;
    ~HostGate();
    HostGate(const HostGate&) = delete;
    HostGate& operator=(const HostGate&) = delete;

    void close(cudaStream_t stream);
    void open() { open_ = true; }
    bool reached() const {
        return eventually([this] { return reached_.load(); });
    }

private:
    static void wait(void* self);

    std::atomic<bool> open_{false};
    std::atomic<bool> reached_{false};
    std::atomic<bool> passed_{false};
    bool closed_ = false;
};

/// Makes a device current for a scope.
class CurrentDevice {
public:
    explicit CurrentDevice(int device) {
        require(cudaGetDevice(&previous_));
        require(cudaSetDevice(device));
    }
    ~CurrentDevice() { cudaSetDevice(previous_); }
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

private:
    int previous_ = 0;
};

}  // namespace test
