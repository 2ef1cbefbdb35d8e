#include "tests/vgpu/cuda_fixture.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

void PrintTo(cudaError_t status, std::ostream* out) {
    *out << cudaGetErrorName(status) << " (" << static_cast<int>(status) << ")";
}

namespace test {

void require(cudaError_t status, std::source_location where) {
    if (status != cudaSuccess) {
        throw std::runtime_error(std::string(cudaGetErrorName(status)) + " at " +
                                 where.file_name() + ":" + std::to_string(where.line()));
    }
}

cudaPointerAttributes attributes_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

namespace {

bool hostile_mode() {
    const char* const hostile = std::getenv("VGPU_HOSTILE");
    return hostile != nullptr && std::string(hostile) == "1";
}

}  // namespace

bool streams_are_independent() {
    return !hostile_mode();
}

bool calls_wait_only_as_documented() {
    return !hostile_mode();
}

void CudaTest::SetUp() {
    const cudaError_t status = cudaGetDeviceCount(&device_count_);
    if (status != cudaSuccess || device_count_ == 0) {
        cudaGetLastError();
        GTEST_SKIP() << "needs a CUDA device: " << cudaGetErrorString(status);
    }
    for (int device = std::min(device_count_, 2) - 1; device >= 0; --device) {
        require(cudaSetDevice(device));
        require(load_all_kernels());
    }
    require(cudaGetLastError());
}

void CudaTest::TearDown() {
    if (device_count_ == 0) {
        return;
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the test left an error behind";
    for (int device = device_count_ - 1; device >= 0; --device) {
        EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "device " << device;
    }
}

void TwoDeviceTest::SetUp() {
    CudaTest::SetUp();
    if (!IsSkipped() && device_count_ < 2) {
        GTEST_SKIP() << "needs two devices, there is " << device_count_;
    }
}

void PeerTest::SetUp() {
    TwoDeviceTest::SetUp();
    if (IsSkipped()) {
        return;
    }
    int forth = 0;
    int back = 0;
    require(cudaDeviceCanAccessPeer(&forth, 0, 1));
    require(cudaDeviceCanAccessPeer(&back, 1, 0));
    if (forth == 0 || back == 0) {
        GTEST_SKIP() << "needs devices 0 and 1 to reach each other";
    }
}

void PeerTest::TearDown() {
    if (device_count_ >= 2) {
        for (int device : {1, 0}) {
            cudaSetDevice(device);
            if (cudaDeviceDisablePeerAccess(1 - device) != cudaSuccess) {
                cudaGetLastError();  // it was not on
            }
        }
    }
    TwoDeviceTest::TearDown();
}

void ConcurrentTest::SetUp() {
    CudaTest::SetUp();
    if (!IsSkipped() && !streams_are_independent()) {
        GTEST_SKIP() << "needs a hardware queue for each stream";
    }
}

void CopyStream::copy(void* target, const void* source, std::size_t bytes,
                      cudaMemcpyKind kind) const {
    require(cudaMemcpyAsync(target, source, bytes, kind, stream_));
    require(cudaStreamSynchronize(stream_));
}

void CopyStream::clear(void* target, std::size_t bytes) const {
    require(cudaMemsetAsync(target, 0, bytes, stream_));
    require(cudaStreamSynchronize(stream_));
}

DeviceWords::DeviceWords(std::size_t count) : count_(count) {
    require(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
    stream_.clear(data_, bytes());
}

std::vector<std::uint32_t> DeviceWords::read() const {
    std::vector<std::uint32_t> values(count_);
    stream_.copy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost);
    return values;
}

void DeviceWords::write(const std::vector<std::uint32_t>& values) const {
    stream_.copy(data_, values.data(), values.size() * sizeof(std::uint32_t),
                 cudaMemcpyHostToDevice);
}

PinnedWords::PinnedWords(std::size_t count) : count_(count) {
    require(cudaHostAlloc(reinterpret_cast<void**>(&data_), bytes(),
                          cudaHostAllocMapped | cudaHostAllocPortable));
    for (std::size_t index = 0; index < count; ++index) {
        store(0, index);
    }
}

std::uint32_t* PinnedWords::device_data() const {
    void* pointer = nullptr;
    require(cudaHostGetDevicePointer(&pointer, data_, 0));
    return static_cast<std::uint32_t*>(pointer);
}

std::uint32_t PinnedWords::load(std::size_t index) const {
    return std::atomic_ref<std::uint32_t>(data_[index]).load(std::memory_order_acquire);
}

void PinnedWords::store(std::uint32_t value, std::size_t index) const {
    std::atomic_ref<std::uint32_t>(data_[index]).store(value, std::memory_order_release);
}

Gate::~Gate() {
    open();
    if (closed_) {
        eventually([this] { return words_.load(2) != outcome_none; });
    }
}

void Gate::close(cudaStream_t stream) {
    std::uint32_t* const words = words_.device_data();
    require(launch(AwaitFlag{.started = words + 1, .flag = words, .outcome = words + 2}, stream));
    closed_ = true;
}

bool Gate::reached() const {
    return eventually([this] { return words_.load(1) == 1; });
}

HostGate::~HostGate() {
    open();
    if (closed_) {
        eventually([this] { return passed_.load(); });
    }
}

void HostGate::close(cudaStream_t stream) {
    require(cudaLaunchHostFunc(stream, &HostGate::wait, this));
    closed_ = true;
}

void HostGate::wait(void* self) {
    auto& gate = *static_cast<HostGate*>(self);
    gate.reached_ = true;
    eventually([&] { return gate.open_.load(); });
    gate.passed_ = true;
}

}  // namespace test
