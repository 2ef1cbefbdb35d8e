// Two ratios of the training layer, each within one run:
//   - averaging between threads (ThreadedGradientSync) against the communicator's all_reduce;
//   - how much of an all_reduce is hidden behind a backward pass that takes as long.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "rondo/communicator.hpp"
#include "rondo/training/communicator_sync.hpp"
#include "rondo/training/gradient_sync.hpp"
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

struct Times {
    std::vector<double> medians;  ///< seconds, one of each contestant
    std::vector<double> best;     ///< what the machine can do when nobody else has work for it
};

/// In turns: other work on the machine hits all contestants.
Times time_in_turns(int rounds, const std::vector<std::function<void()>>& runs) {
    std::vector<std::vector<double>> seconds(runs.size());
    for (const auto& run : runs) run();  // the first time is not like the others
    for (int i = 0; i < rounds; ++i) {
        for (std::size_t r = 0; r < runs.size(); ++r) seconds[r].push_back(seconds_of(runs[r]));
    }
    Times times;
    for (auto& values : seconds) {
        std::ranges::sort(values);
        times.medians.push_back(values[values.size() / 2]);
        times.best.push_back(values[0]);
    }
    return times;
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

void bench_threads(int workers, std::size_t count, int runs) {
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
    const std::vector<double> medians = time_in_turns(runs, {reduce, average}).medians;
    const double by_communicator = medians[0], by_threads = medians[1];
    fmt::print(
        "{} workers x {} floats: all_reduce {:.1f} ms, threads {:.1f} ms; time ratio {:.2f}, "
        "target at most 2: {}\n",
        workers, count, 1e3 * by_communicator, 1e3 * by_threads, by_threads / by_communicator,
        by_threads <= 2 * by_communicator ? "met" : "missed");
}

/// A kernel that takes time and no processor, as the backward pass of a GPU does for its host.
struct Pause {
    std::uint64_t nanoseconds;
};

void pause_kernel(Pause pause) {
    static const std::uint32_t never = 0;
    vgpu::wait_for_flag(
        {.flag = &never, .wanted = 1, .deadline_ns = vgpu::global_timer_ns() + pause.nanoseconds});
}

void launch_pause(int device, cudaStream_t stream, double seconds) {
    static constexpr std::size_t argument_bytes = sizeof(Pause);
    const void* const entry = reinterpret_cast<const void*>(&pause_kernel);
    vgpu::register_kernel(
        entry, {.name = "pause_kernel",
                .run = [](void** arguments) { pause_kernel(*static_cast<Pause*>(arguments[0])); },
                .argument_sizes = &argument_bytes,
                .argument_count = 1});
    cudaSetDevice(device);
    Pause pause{static_cast<std::uint64_t>(seconds * 1e9)};
    void* arguments[] = {&pause};
    cudaLaunchKernel(entry, dim3(1), dim3(1), arguments, 0, stream);
}

class Overlap {
public:
    Overlap(int workers, std::size_t layers, std::size_t layer_floats)
        : workers_(workers),
          layers_(layers),
          comm_(Communicator::create({.devices = first_devices(workers)})) {
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
            if (layer_seconds > 0) launch_pause(w, streams_[i], layer_seconds);
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
};

/// Of the one all_reduce's time, the share that the step in buckets does not show.
double hidden_share(const std::vector<double>& seconds) {
    const double reduce = seconds[0], backward = seconds[1], in_buckets = seconds[3];
    return (backward + reduce - in_buckets) / reduce;
}

void bench_overlap(int workers, std::size_t layers, std::size_t layer_floats, int runs) {
    Overlap overlap(workers, layers, layer_floats);
    const std::size_t layer_bytes = layer_floats * sizeof(float);
    const std::size_t one_bucket = layers * layer_bytes;
    const double layer_seconds =
        time_in_turns(runs, {overlap.step(0, one_bucket)}).medians[0] / static_cast<double>(layers);
    const Times times = time_in_turns(
        runs, {overlap.step(0, one_bucket), overlap.step(layer_seconds, 0),
               overlap.step(layer_seconds, one_bucket), overlap.step(layer_seconds, layer_bytes),
               overlap.step(0, layer_bytes)});
    const std::vector<double>& median = times.medians;
    const double hidden = hidden_share(median);
    fmt::print(
        "{} workers, {} layers of {} KiB: all_reduce {:.1f} ms (in buckets {:.1f} ms), backward "
        "{:.1f} ms, one after the other {:.1f} ms, side by side {:.1f} ms; hidden {:.0f} % (best "
        "times: {:.0f} %), target 60 %: {}\n",
        workers, layers, layer_bytes >> 10, 1e3 * median[0], 1e3 * median[4], 1e3 * median[1],
        1e3 * median[2], 1e3 * median[3], 100 * hidden, 100 * hidden_share(times.best),
        hidden >= 0.6 ? "met" : "missed");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Ratios of the training layer");
    int runs = 11, workers = 8;
    std::size_t floats = 25'000'000, layers = 16, layer_floats = 1'000'000;
    app.add_option("--runs", runs, "Of which the median counts")->capture_default_str();
    app.add_option("--workers", workers, "Threads and devices")->capture_default_str();
    app.add_option("--floats", floats, "Gradients of a worker")->capture_default_str();
    app.add_option("--layers", layers, "Of the backward pass")->capture_default_str();
    app.add_option("--layer-floats", layer_floats, "Parameters of a layer")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    bench_threads(workers, floats, runs);
    for (const int devices : {2, 4}) bench_overlap(devices, layers, layer_floats, runs);
    return 0;
}
