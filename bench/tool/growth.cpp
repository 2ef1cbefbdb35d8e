// How time and memory grow with the number of GPUs and with the message.
#include "bench/tool/growth.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "bench/tool/cuda_check.hpp"
#include "bench/tool/machine.hpp"
#include "bench/tool/rondo_contestant.hpp"
#include "bench/tool/runtime.hpp"

namespace rondo::bench {
namespace {

/// What the process holds: on the heap, and on each device.
struct MemoryInUse {
    double heap = 0;
    std::vector<double> devices;

    static MemoryInUse now(int ranks) {
        const struct mallinfo2 info = mallinfo2();
        MemoryInUse use{static_cast<double>(info.uordblks + info.hblkhd), {}};
        for (int device = 0; device < ranks; ++device) {
            std::size_t free = 0, total = 0;
            check(cudaSetDevice(device), "cudaSetDevice");
            check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
            use.devices.push_back(static_cast<double>(total - free));
        }
        return use;
    }
    double device_growth(const MemoryInUse& before) const {
        double most = 0;
        for (std::size_t i = 0; i < devices.size(); ++i) {
            most = std::max(most, devices[i] - before.devices[i]);
        }
        return most;
    }
};

std::vector<int> rank_counts(int most) {
    std::vector<int> counts;
    for (int ranks = 1; ranks < most; ranks *= 2) counts.push_back(ranks);
    counts.push_back(most);
    return counts;
}

/// Times of the later calls, in rounds of a few milliseconds.
Spread later_calls(RondoContestant& contestant, const Options& options) {
    const double once = contestant.run(1, 1);
    const double wanted = 1e-3 * options.round_milliseconds / std::max(once, 1e-9);
    const int iterations = static_cast<int>(std::clamp(wanted, 1.0, 2000.0));
    std::vector<double> us;
    for (int round = 0; round < options.rounds; ++round) {
        us.push_back(1e6 * contestant.run(once < 0.2 ? 1 : 0, iterations));
        if (once > 1) break;
    }
    return spread_of(us);
}

GrowthPoint measure_point(const Options& options, int ranks, std::uint64_t bytes) {
    GrowthPoint point{.ranks = ranks, .bytes = bytes};
    const double needed = 2.0 * ranks * static_cast<double>(bytes);
    if (runtime_is_virtual() && needed > 0.6 * available_memory()) {
        point.left_out = fmt::format("needs {}, {} are free", bytes_text(needed),
                                     bytes_text(available_memory()));
        return point;
    }
    Case test{.operation = options.operation,
              .type = options.types[0],
              .op = options.ops[0],
              .root = 0,
              .ranks = ranks,
              .shape = shape_of(options.operation, options.types[0], ranks, bytes),
              .in_place = has_in_place(options.operation)};
    std::vector<int> devices;
    for (int device = 0; device < ranks; ++device) devices.push_back(device);
    const Buffers buffers(devices, bytes, 0);
    const MemoryInUse before = MemoryInUse::now(ranks);
    RondoContestant contestant({.devices = devices, .strategy = options.strategies[0]}, buffers,
                               {.blocking = options.blocking});
    contestant.begin(test);
    const auto begin = std::chrono::steady_clock::now();
    contestant.call_once();
    point.first_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    point.us = later_calls(contestant, options);
    const MemoryInUse after = MemoryInUse::now(ranks);
    point.host_bytes = std::max(0.0, after.heap - before.heap);
    point.device_bytes = after.device_growth(before);
    return point;
}

}  // namespace

void measure_growth(const Options& options, Report& report,
                    const std::function<void(const GrowthPoint&)>& done) {
    for (const int ranks : rank_counts(options.ranks())) {
        for (const std::uint64_t bytes : sizes_of(options.sizes)) {
            try {
                report.growth.push_back(measure_point(options, ranks, bytes));
            } catch (const InvalidArgument&) {
                throw;
            } catch (const Error& error) {
                report.growth.push_back({.ranks = ranks, .bytes = bytes, .left_out = error.what()});
            }
            done(report.growth.back());
        }
    }
}

std::string growth_titles() {
    return fmt::format("# {:>6}  {:>10}  {:>14}  {:>14}  {:>12}  {:>14}\n", "GPUs", "size",
                       "first call ms", "later call us", "host memory", "device scratch");
}

std::string growth_line(const GrowthPoint& point) {
    const std::string size = bytes_text(static_cast<double>(point.bytes));
    if (!point.left_out.empty()) {
        return fmt::format("{:>8}  {:>10}  left out: {}\n", point.ranks, size, point.left_out);
    }
    return fmt::format("{:>8}  {:>10}  {:>14.2f}  {:>14.2f}  {:>12}  {:>14}\n", point.ranks, size,
                       point.first_ms, point.us.median, bytes_text(point.host_bytes),
                       bytes_text(point.device_bytes));
}

}  // namespace rondo::bench
