// all_reduce through the whole API on virtual GPUs, beside a hand-written two-shot reduction with
// all cores over the same buffers, in one run. Medians of interleaved repetitions; only the ratios
// mean something on a shared machine.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "rondo/communicator.hpp"

namespace {

using namespace rondo;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Everybody's slice i is added up and written to everybody: the least traffic that an all-reduce
/// in one memory can have.
__attribute__((target_clones("avx512f", "avx2", "default"))) void two_shot_slice(
    float* const* buffers, std::size_t ranks, std::size_t begin, std::size_t end) {
    constexpr std::size_t tile = 1024;
    alignas(64) float sum[tile];
    for (std::size_t first = begin; first < end; first += tile) {
        const std::size_t count = std::min(tile, end - first);
        std::copy_n(buffers[0] + first, count, sum);
        for (std::size_t r = 1; r < ranks; ++r) {
            const float* const from = buffers[r] + first;
            for (std::size_t i = 0; i < count; ++i) sum[i] += from[i];
        }
        for (std::size_t r = 0; r < ranks; ++r) std::copy_n(sum, count, buffers[r] + first);
    }
}

/// Threads that wait spinning for the next job; the caller is one of them.
class SpinningTeam {
public:
    explicit SpinningTeam(unsigned size) : size_(std::max(size, 1u)) {
        for (unsigned i = 1; i < size_; ++i) {
            threads_.emplace_back([this, i](const std::stop_token& stop) {
                for (unsigned seen = 0; !stop.stop_requested();) {
                    const unsigned now = jobs_.load(std::memory_order_acquire);
                    if (now == seen) continue;
                    seen = now;
                    job_(i);
                    done_.fetch_add(1, std::memory_order_release);
                }
            });
        }
    }
    unsigned size() const { return size_; }
    void run(std::function<void(unsigned)> job) {
        job_ = std::move(job);
        done_.store(0);
        jobs_.fetch_add(1, std::memory_order_release);
        job_(0);
        while (done_.load(std::memory_order_acquire) != size_ - 1) {
        }
    }

private:
    const unsigned size_;
    std::function<void(unsigned)> job_;
    std::atomic<unsigned> jobs_ = 0, done_ = 0;
    std::vector<std::jthread> threads_;
};

struct Row {
    std::string strategy;
    int ranks = 0;
    std::size_t bytes = 0;
    double rondo_us = 0, two_shot_us = 0;
};

Row measure(const std::string& strategy, int ranks, std::size_t bytes, int repeat) {
    const std::size_t count = bytes / sizeof(float);
    CommunicatorOptions options;
    for (int device = 0; device < ranks; ++device) options.devices.push_back(device);
    options.strategy = parse_strategy(strategy);
    Communicator comm = Communicator::create(options);
    std::vector<Tensor<float>> tensors;
    std::vector<float*> buffers;
    const std::vector<float> zeros(count);
    for (int device = 0; device < ranks; ++device) {
        tensors.push_back(Tensor<float>::allocate(device, count));
        buffers.push_back(tensors.back().data());
        cudaMemcpy(buffers.back(), zeros.data(), bytes, cudaMemcpyDefault);
    }
    const PerReplica<float> value(tensors);
    std::vector<double> own, other;
    for (int i = 0; i < repeat + 3; ++i) {
        const auto begin = Clock::now();
        comm.all_reduce(ReduceOp::sum, value).wait();
        const double time = microseconds(Clock::now() - begin);
        if (i >= 3) own.push_back(time);
    }
    {
        SpinningTeam team(std::thread::hardware_concurrency());
        for (int i = 0; i < repeat + 3; ++i) {
            const auto begin = Clock::now();
            team.run([&](unsigned thread) {
                two_shot_slice(buffers.data(), buffers.size(), count * thread / team.size(),
                               count * (thread + 1) / team.size());
            });
            const double time = microseconds(Clock::now() - begin);
            if (i >= 3) other.push_back(time);
        }
    }
    return {strategy, ranks, bytes, median(own), median(other)};
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Measures all_reduce (float sum, in place) on virtual GPUs against a hand-written "
        "two-shot\n"
        "reduction with all cores, in one run. Traffic is 2 * ranks * bytes for both.");
    std::vector<std::string> strategies{"direct", "ring", "tree(2)"};
    std::vector<int> ranks{2, 4, 8};
    std::vector<std::size_t> sizes{8, 4096, 65536, 1 << 20, 16 << 20, 64 << 20};
    int repeat = 21;
    app.add_option("--strategies", strategies, "what is measured")->capture_default_str();
    app.add_option("--ranks", ranks, "numbers of GPUs")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--sizes", sizes, "bytes per GPU")->capture_default_str();
    app.add_option("--repeat", repeat, "repetitions, of which the median counts")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    CLI11_PARSE(app, argc, argv);
    fmt::print("measured on virtual GPUs, {} cores, median of {}\n",
               std::thread::hardware_concurrency(), repeat);
    fmt::print("{:<12} {:>5} {:>10} {:>12} {:>12} {:>7} {:>14}\n", "strategy", "ranks", "bytes",
               "rondo us", "two-shot us", "ratio", "traffic GB/s");
    for (const std::string& strategy : strategies) {
        for (const int n : ranks) {
            for (const std::size_t bytes : sizes) {
                const int times = bytes <= 65536 ? repeat * 50 : repeat;
                const Row row = measure(strategy, n, bytes, times);
                fmt::print("{:<12} {:>5} {:>10} {:>12.2f} {:>12.2f} {:>7.2f} {:>14.2f}\n",
                           row.strategy, row.ranks, row.bytes, row.rondo_us, row.two_shot_us,
                           row.two_shot_us / row.rondo_us,
                           2e-3 * n * static_cast<double>(bytes) / row.rondo_us);
                std::fflush(stdout);
            }
        }
    }
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "communicator_bench: {}\n", error.what());
    return 1;
}
