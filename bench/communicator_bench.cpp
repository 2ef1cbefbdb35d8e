// all_reduce through the whole API on virtual GPUs, beside a hand-written two-shot reduction with
// all cores over the same buffers, in one run. Medians of interleaved repetitions; only the ratios
// mean something on a shared machine.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "rondo/communicator.hpp"
#include "strategy/build.hpp"

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
    double rondo_us = 0, touched_bytes = 0;
};

/// What all GPUs read and write, as the strategy's schedule has it: 2 * ranks * bytes for direct.
double touched_bytes(const Strategy& strategy, int ranks, std::size_t bytes) {
    const Strategy shots = strategy == Strategy::direct() ? Strategy::direct(2) : strategy;
    const Schedule schedule =
        build(shots, {.ranks = static_cast<std::uint32_t>(ranks), .lanes = 4, .depth = 4});
    double spans = 0;
    double all = 0;
    for (const std::uint64_t share : schedule.unit_shares) all += static_cast<double>(share);
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            spans += static_cast<double>(step.sources.size() + step.destinations.size()) *
                     static_cast<double>(schedule.unit_shares[step.unit]) / all;
        }
    }
    return spans * static_cast<double>(bytes);
}

CommunicatorOptions options_of(const std::string& strategy, int ranks) {
    CommunicatorOptions options{.strategy = parse_strategy(strategy)};
    for (int device = 0; device < ranks; ++device) options.devices.push_back(device);
    return options;
}

PerReplica<float> zeros(int ranks, std::size_t bytes) {
    const std::vector<float> values(bytes / sizeof(float));
    std::vector<Tensor<float>> tensors;
    for (int device = 0; device < ranks; ++device) {
        tensors.push_back(Tensor<float>::allocate(device, values.size()));
        cudaMemcpy(tensors.back().data(), values.data(), bytes, cudaMemcpyDefault);
    }
    return PerReplica<float>(tensors);
}

/// All strategies and the hand-written reduction over the same buffers, in rounds, so that a change
/// in the machine's speed meets all of them.
class Measurement {
public:
    Measurement(const std::vector<std::string>& strategies, int ranks, std::size_t bytes)
        : ranks_(ranks), bytes_(bytes), value_(zeros(ranks, bytes)) {
        for (const Tensor<float>& tensor : value_) buffers_.push_back(tensor.data());
        for (const std::string& strategy : strategies) {
            contestants_.push_back(
                {strategy, Communicator::create(options_of(strategy, ranks)), {}});
        }
    }

    void run(int repeat) {
        constexpr int rounds = 5;
        for (int round = 0; round < rounds; ++round) {
            const int times = std::max(1, repeat / rounds);
            for (Contestant& contestant : contestants_) {
                time(contestant.times, times,
                     [&] { contestant.comm.all_reduce(ReduceOp::sum, value_).wait(); });
            }
            SpinningTeam team(std::thread::hardware_concurrency());
            time(two_shot_, times, [&] {
                team.run([&](unsigned thread) {
                    const std::size_t count = bytes_ / sizeof(float);
                    two_shot_slice(buffers_.data(), buffers_.size(), count * thread / team.size(),
                                   count * (thread + 1) / team.size());
                });
            });
        }
    }

    double two_shot_us() const { return median(two_shot_); }
    std::vector<Row> rows() const {
        std::vector<Row> rows;
        for (const Contestant& contestant : contestants_) {
            rows.push_back({contestant.name, median(contestant.times),
                            touched_bytes(parse_strategy(contestant.name), ranks_, bytes_)});
        }
        return rows;
    }

private:
    struct Contestant {
        std::string name;
        Communicator comm;
        std::vector<double> times;
    };

    template <class Call>
    static void time(std::vector<double>& times, int repeat, Call call) {
        constexpr int warm_up = 2;
        for (int i = 0; i < repeat + warm_up; ++i) {
            const auto begin = Clock::now();
            call();
            const double taken = microseconds(Clock::now() - begin);
            if (i >= warm_up) times.push_back(taken);
        }
    }

    const int ranks_;
    const std::size_t bytes_;
    std::vector<float*> buffers_;
    const PerReplica<float> value_;
    std::vector<Contestant> contestants_;
    std::vector<double> two_shot_;
};

/// A new communicator's first call builds the schedule, proves it and lowers it; the second does
/// not.
struct FirstCall {
    double create_ms = 0, first_ms = 0, second_ms = 0;
};

FirstCall measure_first_call(const std::string& strategy, int ranks, std::size_t bytes) {
    constexpr int repeat = 7;
    const PerReplica<float> value = zeros(ranks, bytes);
    std::vector<double> create, first, second;
    for (int i = 0; i < repeat; ++i) {
        auto begin = Clock::now();
        const auto lap = [&begin](std::vector<double>& times) {
            const auto now = Clock::now();
            times.push_back(1e-3 * microseconds(now - begin));
            begin = now;
        };
        Communicator comm = Communicator::create(options_of(strategy, ranks));
        lap(create);
        comm.all_reduce(ReduceOp::sum, value).wait();
        lap(first);
        comm.all_reduce(ReduceOp::sum, value).wait();
        lap(second);
    }
    return {median(create), median(first), median(second)};
}

void print_first_calls(const std::vector<std::string>& strategies, const std::vector<int>& ranks) {
    constexpr std::size_t bytes = 1 << 20;
    fmt::print(
        "\nfirst calls of new communicators, {} bytes per GPU: schedule, proof, lowering, upload "
        "and "
        "the call\n{:<12} {:>5} {:>12} {:>14} {:>15}\n",
        bytes, "strategy", "ranks", "creation ms", "first call ms", "second call ms");
    for (const int n : ranks) {
        for (const std::string& strategy : strategies) {
            const FirstCall call = measure_first_call(strategy, n, bytes);
            fmt::print("{:<12} {:>5} {:>12.2f} {:>14.2f} {:>15.2f}\n", strategy, n, call.create_ms,
                       call.first_ms, call.second_ms);
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Measures all_reduce (float sum, in place) on virtual GPUs against a hand-written "
        "two-shot\n"
        "reduction with all cores, in one run.");
    std::vector<std::string> strategies{"direct", "ring", "tree(2)"};
    std::vector<int> ranks{2, 4, 8};
    std::vector<std::size_t> sizes{8, 4096, 65536, 1 << 20, 16 << 20, 64 << 20};
    std::vector<int> first_ranks{8, 64};
    int repeat = 21;
    app.add_option("--strategies", strategies, "what is measured")->capture_default_str();
    app.add_option("--ranks", ranks, "numbers of GPUs")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_option("--sizes", sizes, "bytes per GPU")->capture_default_str();
    app.add_option("--repeat", repeat, "repetitions, of which the median counts")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    app.add_option("--first-call-ranks", first_ranks,
                   "numbers of GPUs for which first calls are measured")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    CLI11_PARSE(app, argc, argv);
    const int most = std::max(std::ranges::max(ranks), std::ranges::max(first_ranks));
    setenv("VGPU_TOPOLOGY", std::to_string(most).c_str(), 0);  // unless the caller has chosen one
    fmt::print("measured on virtual GPUs, {} cores, median of {}\n",
               std::thread::hardware_concurrency(), repeat);
    fmt::print("{:<12} {:>5} {:>10} {:>12} {:>12} {:>8} {:>13} {:>12}\n", "strategy", "ranks",
               "bytes", "rondo us", "two-shot us", "of that", "touched GB/s", "of the first");
    for (const int n : ranks) {
        for (const std::size_t bytes : sizes) {
            Measurement measurement(strategies, n, bytes);
            measurement.run(bytes <= 65536 ? repeat * 50 : bytes <= 1 << 20 ? repeat * 10 : repeat);
            double first = 0;
            for (const Row& row : measurement.rows()) {
                const double rate = 1e-3 * row.touched_bytes / row.rondo_us;
                first = first == 0 ? rate : first;
                fmt::print("{:<12} {:>5} {:>10} {:>12.2f} {:>12.2f} {:>8.2f} {:>13.2f} {:>12.2f}\n",
                           row.strategy, n, bytes, row.rondo_us, measurement.two_shot_us(),
                           measurement.two_shot_us() / row.rondo_us, rate, rate / first);
            }
            std::fflush(stdout);
        }
    }
    fmt::print(
        "of that: the speed of the hand-written two-shot reduction; touched: what the strategy's\n"
        "schedule reads and writes in all memories; of the first: of the first strategy's rate\n");
    print_first_calls(strategies, first_ranks);
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "communicator_bench: {}\n", error.what());
    return 1;
}
