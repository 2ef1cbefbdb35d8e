// Ratios of the training layer, each within one run:
//   - averaging between threads (ThreadedGradientSync) against the communicator's all_reduce;
//   - how much of an all_reduce is hidden behind a backward pass that takes as long;
//   - how long the workers of a pipeline are idle.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "rondo/communicator.hpp"
#include "rondo/training/communicator_sync.hpp"
#include "rondo/training/gradient_sync.hpp"
#include "rondo/training/train.hpp"
#include "vgpu/block.hpp"
#include "vgpu/control.hpp"
#include "vgpu/kernel.hpp"

namespace {

using namespace rondo;
using namespace rondo::training;
using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& run) {
    const auto begin = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

/// Seconds: [contestant][round].
using Times = std::vector<std::vector<double>>;

/// Many short rounds in which the contestants take turns: other work on the machine hits all of
/// them, and a ratio within a round is hardly touched by it. The first round is not like the others
/// and does not count.
Times time_in_turns(int rounds, const std::vector<std::function<void()>>& runs) {
    Times seconds(runs.size());
    for (int i = -1; i < rounds; ++i) {
        for (std::size_t r = 0; r < runs.size(); ++r) {
            const double time = seconds_of(runs[r]);
            if (i >= 0) seconds[r].push_back(time);
        }
    }
    return seconds;
}

/// The median over the rounds of what `ratio` makes of a round's times.
double median_of_rounds(const Times& times, const std::function<double(std::size_t)>& ratio) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[0].size(); ++i) ratios.push_back(ratio(i));
    return median(std::move(ratios));
}

void in_threads(int workers, const std::function<void(int)>& body) {
    std::vector<std::jthread> threads;
    for (int w = 0; w < workers; ++w) threads.emplace_back([&, w] { body(w); });
}

std::vector<int> first_devices(int count) {
    std::vector<int> devices;
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
}

void bench_threads(int workers, std::size_t count, int rounds) {
    const Communicator comm = Communicator::create({.devices = first_devices(workers)});
    std::vector<Tensor<float>> tensors;
    std::vector<std::vector<float>> arrays;
    for (int w = 0; w < workers; ++w) {
        tensors.push_back(Tensor<float>::allocate(w, count));
        cudaMemset(tensors.back().data(), 0, count * sizeof(float));
        arrays.emplace_back(count, static_cast<float>(w));
    }
    const auto reduce = [&] {
        in_threads(workers, [&](int w) {
            const auto& tensor = tensors[static_cast<std::size_t>(w)];
            comm.rank(w).all_reduce(ReduceOp::mean, tensor.data(), tensor.data(), count).wait();
        });
    };
    const ThreadedGradientSync sync(static_cast<std::size_t>(workers));
    const auto average = [&] {
        in_threads(workers, [&](int w) {
            auto own = sync.worker(static_cast<std::size_t>(w));
            own.sync_gradients(arrays[static_cast<std::size_t>(w)]);
        });
    };
    const Times times = time_in_turns(rounds, {reduce, average});
    const double ratio =
        median_of_rounds(times, [&](std::size_t i) { return times[1][i] / times[0][i]; });
    fmt::print(
        "{} workers x {} floats: all_reduce {:.1f} ms, threads {:.1f} ms; time ratio {:.2f}, "
        "target at most 2: {}\n",
        workers, count, 1e3 * median(times[0]), 1e3 * median(times[1]), ratio,
        ratio <= 2 ? "met" : "missed");
}

/// Sets flags at their times. A virtual GPU that has work to do looks at the clock now and then
/// only, so a kernel that just waits for a time would sleep too long beside a busy one.
class AlarmClock {
public:
    void ring(std::uint32_t& flag, Clock::time_point when) {
        const std::scoped_lock lock(mutex_);
        alarms_.emplace(when, &flag);
        changed_.notify_one();
    }

private:
    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            const auto next = alarms_.empty() ? Clock::time_point::max() : alarms_.begin()->first;
            if (Clock::now() >= next) {
                std::atomic_ref(*alarms_.begin()->second).store(1, std::memory_order_release);
                alarms_.erase(alarms_.begin());
            } else if (alarms_.empty()) {
                changed_.wait(lock, stop, [&] { return !alarms_.empty(); });
            } else {
                changed_.wait_until(lock, next);
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<Clock::time_point, std::uint32_t*> alarms_;
    std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

/// A kernel that takes time and no processor, as the backward pass of a GPU does for its host. Its
/// end is counted from the beginning of the pass, not from its own: the layers of a GPU follow each
/// other without the two cores that virtual GPUs share with the reduction.
struct Pause {
    std::uint64_t nanoseconds;  ///< from the beginning of the pass to the end of this kernel
    Clock::time_point* pass;    ///< when the pass began
    bool first;                 ///< of the pass: sets it
    AlarmClock* clock;
    std::uint32_t* flag;  ///< of this pause alone, 0
};

void pause_kernel(Pause pause) {
    if (pause.first) *pause.pass = Clock::now();
    const auto end = *pause.pass + std::chrono::nanoseconds(pause.nanoseconds);
    const auto left = std::chrono::nanoseconds(end - Clock::now()).count();
    if (left <= 0) return;
    pause.clock->ring(*pause.flag, end);
    vgpu::wait_for_flag(
        {.flag = pause.flag,
         .wanted = 1,
         .deadline_ns = vgpu::global_timer_ns() + static_cast<std::uint64_t>(left)});
}

void launch_pause(int device, cudaStream_t stream, Pause pause) {
    static constexpr std::size_t argument_bytes = sizeof(Pause);
    const void* const entry = reinterpret_cast<const void*>(&pause_kernel);
    vgpu::register_kernel(
        entry, {.name = "pause_kernel",
                .run = [](void** arguments) { pause_kernel(*static_cast<Pause*>(arguments[0])); },
                .argument_sizes = &argument_bytes,
                .argument_count = 1});
    cudaSetDevice(device);
    void* arguments[] = {&pause};
    cudaLaunchKernel(entry, dim3(1), dim3(1), arguments, 0, stream);
}

class Overlap {
public:
    Overlap(int workers, std::size_t layers, std::size_t layer_floats)
        : workers_(workers),
          layers_(layers),
          comm_(Communicator::create({.devices = first_devices(workers)})),
          flags_(static_cast<std::size_t>(workers)),
          passes_(static_cast<std::size_t>(workers)) {
        for (std::size_t p = 0; p < layers; ++p) {
            slices_.push_back({fmt::format("layer {}", p), p * layer_floats, layer_floats});
        }
        for (int w = 0; w < workers; ++w) {
            gradients_.push_back(Tensor<float>::allocate(w, layers * layer_floats));
            cudaMemset(gradients_.back().data(), 0, layers * layer_floats * sizeof(float));
            streams_.emplace_back();
            cudaSetDevice(w);
            cudaStreamCreateWithFlags(&streams_.back(), cudaStreamNonBlocking);
        }
    }

    /// A step with so much backward pass per layer, in buckets of so many bytes; buckets of 0
    /// bytes: no communication.
    std::function<void()> step(double layer_seconds, std::size_t bucket_bytes) {
        auto syncs = std::make_shared<std::vector<std::unique_ptr<CommunicatorGradientSync>>>();
        for (int w = 0; w < workers_; ++w) {
            syncs->push_back(std::make_unique<CommunicatorGradientSync>(
                comm_, w, slices_,
                BucketOptions{.bucket_bytes = std::max<std::size_t>(bucket_bytes, 1),
                              .first_bucket_bytes = std::max<std::size_t>(bucket_bytes, 1)}));
            syncs->back()->set_synchronizing(bucket_bytes > 0);
        }
        return [=, this] {
            in_threads(workers_, [&](int w) {
                worker(w, *(*syncs)[static_cast<std::size_t>(w)], layer_seconds);
            });
        };
    }

private:
    void worker(int w, CommunicatorGradientSync& sync, double layer_seconds) {
        const auto i = static_cast<std::size_t>(w);
        sync.begin_step(gradients_[i].data(), streams_[i]);
        for (std::size_t p = layers_; p-- > 0;) {
            if (layer_seconds > 0) {
                // An alarm of an earlier step may still ring: not the flag of this one.
                std::uint32_t& flag = flags_[i].emplace_back(0);
                const auto done = static_cast<double>(layers_ - p);
                launch_pause(w, streams_[i],
                             {static_cast<std::uint64_t>(done * layer_seconds * 1e9), &passes_[i],
                              p + 1 == layers_, &clock_, &flag});
            }
            sync.gradient_ready(p);
        }
        sync.finish_step();
        sync.wait();
        cudaStreamSynchronize(streams_[i]);
    }

    int workers_;
    std::size_t layers_;
    Communicator comm_;
    std::vector<GradientSlice> slices_;
    std::vector<Tensor<float>> gradients_;
    std::vector<cudaStream_t> streams_;
    std::vector<std::deque<std::uint32_t>> flags_;  ///< by worker; kept as long as alarms may ring
    std::vector<Clock::time_point> passes_;         ///< by worker
    AlarmClock clock_;
};

/// The backward pass takes as long as the all_reduce of the same buckets without it; how much of
/// that does a step not show? Also compared with one all_reduce of everything behind the pass,
/// which has no cost of buckets. Virtual GPUs reduce on the cores of this machine, and the pass
/// takes none of them: what is measured is whether buckets leave in time and whether anybody waits
/// in between, not how a pass and a reduction share the processors of one GPU.
void bench_overlap(int workers, std::size_t layers, std::size_t layer_floats, int rounds) {
    Overlap overlap(workers, layers, layer_floats);
    const std::size_t layer_bytes = layer_floats * sizeof(float);
    const std::size_t one_bucket = layers * layer_bytes;
    const auto buckets = overlap.step(0, layer_bytes);
    const double layer_seconds =
        median(time_in_turns(rounds, {buckets})[0]) / static_cast<double>(layers);
    const Times times = time_in_turns(
        rounds, {buckets, overlap.step(layer_seconds, 0), overlap.step(layer_seconds, layer_bytes),
                 overlap.step(layer_seconds, one_bucket), overlap.step(0, one_bucket)});
    /// Of this all_reduce, in this kind of step.
    const auto hidden = [&](std::size_t reduction, std::size_t step) {
        return median_of_rounds(times, [&](std::size_t i) {
            return (times[reduction][i] + times[1][i] - times[step][i]) / times[reduction][i];
        });
    };
    const double share = hidden(0, 2), share_of_whole = hidden(4, 2);
    fmt::print(
        "{} workers, {} layers of {} KiB: all_reduce in buckets {:.1f} ms, in one {:.1f} ms; "
        "backward {:.1f} ms; one after the other {:.1f} ms, buckets beside it {:.1f} ms; hidden "
        "{:.0f} % of the buckets, {:.0f} % of the one (which itself hides {:.0f} %), target 60 %: "
        "{}\n",
        workers, layers, layer_bytes >> 10, 1e3 * median(times[0]), 1e3 * median(times[4]),
        1e3 * median(times[1]), 1e3 * median(times[3]), 1e3 * median(times[2]), 100 * share,
        100 * share_of_whole, 100 * hidden(4, 3),
        std::min(share, share_of_whole) >= 0.6 ? "met" : "missed");
}

/// Equal stages of dense layers, small enough for one core each, against (S - 1) / M.
void bench_bubble(std::uint32_t stages, std::uint32_t micro_batches, PipelineKind kind) {
    constexpr std::uint32_t width = 128, rows = 31, stage_layers = 4;
    Graph graph(Loss::squared_error);
    ModelParallel strategy{.partitions = {}, .micro_batches = micro_batches, .pipeline = kind};
    for (std::uint32_t s = 0; s < stages; ++s) {
        strategy.partitions.push_back({.nodes = {}, .worker = s});
        for (std::uint32_t l = 0; l < stage_layers; ++l) {
            const std::string id = fmt::format("dense {}.{}", s, l);
            graph.add(dense(id, width));
            strategy.partitions.back().nodes.push_back(id);
        }
    }
    Table data(width, width);
    const std::vector<float> sample(width, 0.01f);
    const std::size_t batch = std::size_t{rows} * micro_batches;
    for (std::size_t i = 0; i < batch; ++i) data.add(sample, sample);
    const TrainingReport report =
        train(graph, strategy, data, {.epochs = 60, .batch_size = batch, .optimizer = Sgd{1e-3}});
    fmt::print(
        "{} stages, {} micro-batches, {}: bubble {:.3f} measured, {:.3f} by the timetable, "
        "(S - 1) / M = {:.3f}\n",
        stages, micro_batches, to_string(kind), report.measured_bubble, report.bubble,
        (stages - 1.0) / micro_batches);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Ratios of the training layer");
    int rounds = 25, workers = 8;
    std::size_t floats = 25'000'000, layers = 16, layer_floats = 2'000'000;
    app.add_option("--rounds", rounds, "Of which the median counts")->capture_default_str();
    app.add_option("--workers", workers, "Threads and devices")->capture_default_str();
    app.add_option("--floats", floats, "Gradients of a worker")->capture_default_str();
    app.add_option("--layers", layers, "Of the backward pass")->capture_default_str();
    app.add_option("--layer-floats", layer_floats, "Parameters of a layer")->capture_default_str();
    std::vector<std::string> parts{"threads", "overlap", "bubble"};
    app.add_option("--parts", parts, "What to measure")
        ->delimiter(',')
        ->check(CLI::IsMember({"threads", "overlap", "bubble"}))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    const auto wanted = [&](const char* part) {
        return std::ranges::find(parts, part) != parts.end();
    };
    if (wanted("threads")) bench_threads(workers, floats, std::max(rounds / 3, 1));
    for (const int devices : {2, 4, 8}) {
        if (wanted("overlap")) bench_overlap(devices, layers, layer_floats, rounds);
    }
    if (!wanted("bubble")) return 0;
    for (const PipelineKind kind : {PipelineKind::gpipe, PipelineKind::one_forward_one_backward}) {
        for (const std::uint32_t micro_batches : {2u, 4u, 8u}) bench_bubble(2, micro_batches, kind);
        bench_bubble(4, 8, kind);
    }
    return 0;
}
