// Tries out whether GPUs that should reach each other's memory really do.
#include "topology/detect/self_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/peer.hpp"

namespace rondo {
namespace {

using Words = std::vector<std::uint32_t>;

/// Most steps end within it, so that it is not worth sleeping.
constexpr std::chrono::microseconds usual_copy{200};

/// Different for every device, and with no two equal words near each other.
Words pattern_of(int device, std::size_t count) {
    Words words(count);
    std::uint32_t value = 0x9e3779b9u * static_cast<std::uint32_t>(device + 1);
    for (std::uint32_t& word : words) word = value = value * 1664525u + 1013904223u;
    return words;
}

/// What the test has on one device. Given back by release(), which never throws: the device may be
/// beyond repair.
struct Place {
    Words pattern = {};
    void* source = nullptr;
    void* target = nullptr;
    cudaStream_t stream = nullptr;
};

/// Like DeviceGuard, for devices that may have failed: errors are dropped.
class KeepCurrentDevice {
public:
    KeepCurrentDevice() { static_cast<void>(cudaGetDevice(&device_)); }
    ~KeepCurrentDevice() {
        static_cast<void>(cudaSetDevice(device_));
        static_cast<void>(cudaGetLastError());
    }
    KeepCurrentDevice(const KeepCurrentDevice&) = delete;
    KeepCurrentDevice& operator=(const KeepCurrentDevice&) = delete;

private:
    int device_ = 0;
};

class SelfTest {
public:
    explicit SelfTest(const SelfTestOptions& options)
        : options_(options), count_(std::max<std::size_t>(1, options.bytes / 4)) {}
    SelfTest(const SelfTest&) = delete;
    SelfTest& operator=(const SelfTest&) = delete;
    ~SelfTest() {
        for (const auto& [device, place] : places_) release(device, place);
    }

    /// Why the pair is broken, if it is.
    std::optional<std::string> run(int from, int to) {
        for (const int device : {from, to}) {
            if (const auto failure = failed_.find(device); failure != failed_.end()) {
                return fmt::format("not tested: device {} failed before ({})", device,
                                   failure->second);
            }
        }
        // A device that has failed may refuse to be made current, so it must be that before.
        const KeepCurrentDevice keep;
        static_cast<void>(cudaSetDevice(from));
        std::string reason;
        try {
            reason = copy_and_compare(from, to);
        } catch (const TimeoutError& error) {
            reason = error.what();  // a reset would wait for the work that does not end
            for (const int device : {from, to}) give_up(device, reason);
        } catch (const Error& error) {
            reason = error.what();
            for (const int device : {from, to}) recover(device, reason);
        }
        if (reason.empty()) return std::nullopt;
        return reason;
    }

private:
    std::size_t bytes() const { return count_ * sizeof(std::uint32_t); }

    const Place& place_on(int device) {
        const auto [entry, fresh] = places_.emplace(device, Place{});
        if (!fresh) return entry->second;
        Place& place = entry->second;
        const DeviceGuard guard{DeviceId(device)};
        check(cudaStreamCreateWithFlags(&place.stream, cudaStreamNonBlocking), "cudaStreamCreate");
        check(cudaMalloc(&place.source, bytes()), "cudaMalloc");
        check(cudaMalloc(&place.target, bytes()), "cudaMalloc");
        place.pattern = pattern_of(device, count_);
        check(cudaMemcpyAsync(place.source, place.pattern.data(), bytes(), cudaMemcpyHostToDevice,
                              place.stream),
              "cudaMemcpyAsync to the device");
        wait(device, place, "writing the pattern");
        return place;
    }

    /// Empty if the pattern arrives.
    std::string copy_and_compare(int from, int to) {
        enable_peer_access(std::array{DeviceId(from), DeviceId(to)});
        const Place& source = place_on(from);
        const Place& target = place_on(to);
        {
            const DeviceGuard guard{DeviceId(to)};
            check(cudaMemsetAsync(target.target, 0, bytes(), target.stream), "cudaMemsetAsync");
            wait(to, target, "clearing the target");
        }
        {
            const DeviceGuard guard{DeviceId(from)};
            check(
                cudaMemcpyPeerAsync(target.target, to, source.source, from, bytes(), source.stream),
                "cudaMemcpyPeerAsync");
            wait(from, source, "the copy");
        }
        Words found(count_);
        const DeviceGuard guard{DeviceId(to)};
        check(cudaMemcpyAsync(found.data(), target.target, bytes(), cudaMemcpyDeviceToHost,
                              target.stream),
              "cudaMemcpyAsync from the device");
        wait(to, target, "reading the target");
        return difference(source.pattern, found);
    }

    static std::string difference(const Words& expected, const Words& found) {
        const auto [wanted, got] = std::ranges::mismatch(expected, found);
        if (wanted == expected.end()) return "";
        return fmt::format("the data is wrong: byte {} begins {:#010x} instead of {:#010x}",
                           4 * (got - found.begin()), *got, *wanted);
    }

    void wait(int device, const Place& place, const char* step) const {
        const DeviceGuard guard{DeviceId(device)};
        const auto begin = std::chrono::steady_clock::now();
        while (true) {
            const cudaError_t status = cudaStreamQuery(place.stream);
            if (status == cudaSuccess) return;
            if (status != cudaErrorNotReady) check(status, step);
            const auto waited = std::chrono::steady_clock::now() - begin;
            if (waited > options_.deadline) {
                throw TimeoutError(
                    fmt::format("{} did not end within {} ms", step, options_.deadline.count()));
            }
            if (waited < usual_copy) {
                std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(usual_copy / 10);
            }
        }
    }

    /// Whether the current device answers; work that does not end is not waited for.
    bool answers(int device) const {
        const auto place = places_.find(device);
        const bool working = place != places_.end() && place->second.stream != nullptr;
        return (working ? cudaStreamQuery(place->second.stream) : cudaFree(nullptr)) == cudaSuccess;
    }

    void recover(int device, const std::string& reason) {
        int current = -1;
        static_cast<void>(cudaSetDevice(device));
        const bool mine = cudaGetDevice(&current) == cudaSuccess && current == device;
        if (mine && answers(device)) return;
        const bool reset = mine && options_.may_reset_devices && cudaDeviceReset() == cudaSuccess;
        if (reset) {
            places_.erase(device);
        } else {
            give_up(device, reason);
        }
        static_cast<void>(cudaGetLastError());
    }

    /// What the test has there stays there: giving it back could block.
    void give_up(int device, const std::string& reason) {
        failed_.emplace(device, reason);
        places_.erase(device);
    }

    static void release(int device, const Place& place) {
        const KeepCurrentDevice keep;
        static_cast<void>(cudaSetDevice(device));
        if (place.stream != nullptr) static_cast<void>(cudaStreamDestroy(place.stream));
        static_cast<void>(cudaFree(place.source));
        static_cast<void>(cudaFree(place.target));
    }

    SelfTestOptions options_;
    std::size_t count_;  ///< words
    std::map<int, Place> places_;
    std::map<int, std::string> failed_;  ///< devices that can't be used any more, and why
};

}  // namespace

std::vector<BrokenPair> test_pairs(const std::vector<std::pair<int, int>>& pairs,
                                   const SelfTestOptions& options) {
    SelfTest test(options);
    std::vector<BrokenPair> broken;
    for (const auto& [from, to] : pairs) {
        if (auto reason = test.run(from, to)) broken.push_back({from, to, std::move(*reason)});
    }
    return broken;
}

}  // namespace rondo
