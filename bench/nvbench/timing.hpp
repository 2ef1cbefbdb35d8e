// How a benchmark here is timed by nvbench: on GPUs by its own events and stream, on virtual ones
// by the host's clock, because nvbench's own copy of the CUDA runtime can't touch their streams.
#pragma once

#include <nvbench/nvbench.cuh>

#include <string>
#include <utility>
#include <vector>

#include "cuda/stream.hpp"

namespace rondo::bench {

/// nvbench-compare knows only the times of kernels: the host's times, once more under their tags.
inline void repeat_for_compare(nvbench::state& state) {
    const std::string from = "nv/cpu_only/time/cpu", to = "nv/cold/time/gpu";
    std::vector<std::pair<std::string, double>> times;
    for (const nvbench::summary& summary : state.get_summaries()) {
        if (summary.get_tag().starts_with(from) && summary.has_value("value")) {
            times.emplace_back(to + summary.get_tag().substr(from.size()),
                               summary.get_float64("value"));
        }
    }
    for (const auto& [tag, value] : times) {
        nvbench::summary& again = state.add_summary(tag);
        again.set_string("name", "Time");
        again.set_string("description", "the host's clock, repeated for nvbench-compare");
        again.set_string("hide", "It stands in another column.");
        again.set_float64("value", value);
    }
}

/// The host's time of `call`, which ends when its work is done.
template <class Call>
void time_call(nvbench::state& state, Call call) {
    state.set_cuda_stream(nvbench::cuda_stream{nullptr, false});
    const auto launcher = [&](nvbench::launch&, auto& timer) {
        timer.start();
        call();
        timer.stop();
    };
    nvbench::detail::measure_cpu_only<decltype(launcher)> measure(state, launcher);
    measure();
    repeat_for_compare(state);
}

/// `enqueue(stream)` puts work on a stream of `device`.
template <class Enqueue>
void time_work(nvbench::state& state, DeviceId device, Enqueue enqueue) {
    if constexpr (RONDO_BENCH_VIRTUAL) {
        const Stream stream(device);
        time_call(state, [&] {
            enqueue(stream.ref());
            stream.synchronize();
        });
    } else {
        state.exec(
            [&](nvbench::launch& launch) { enqueue(StreamRef(device, launch.get_stream())); });
    }
}

}  // namespace rondo::bench
