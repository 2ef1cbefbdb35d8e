// What every worker did when: compute, buckets of gradients, waits. For chrome://tracing and
// ui.perfetto.dev, and for the question whom everybody waited for.
//
//     Timeline timeline;
//     train(graph, data, {.timeline = &timeline});
//     std::ofstream("run.json") << timeline.to_chrome_trace();
//     for (const Stall& stall : timeline.stalls(0.5)) ...     // "worker 3, 1.2 s in step 17"
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/export.hpp"

namespace rondo::training {

/// One thing that a worker did. Times are seconds since the timeline was made.
struct TimelineSpan {
    std::uint32_t worker = 0;
    std::string lane = {};  ///< "compute", "sync" or "wait"
    std::string name = {};  ///< "backward", "bucket 2"
    std::uint64_t step = 0;
    double begin = 0;
    double end = 0;
};

/// A step in which all others waited for one worker.
struct Stall {
    std::uint64_t step = 0;
    std::uint32_t worker = 0;  ///< the one that everybody waited for
    double seconds = 0;        ///< between the last but one and it
};

/// Collects spans; any thread may add. Recording costs two host calls per span in the stream, so
/// use it to look at a run, not always.
class RONDO_API Timeline {
public:
    Timeline();
    ~Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    /// Seconds since the timeline was made.
    double now() const;
    void add(TimelineSpan span);
    /// In the order of their beginnings.
    std::vector<TimelineSpan> spans() const;

    /// Steps in which one worker finished its compute at least so much later than all others.
    std::vector<Stall> stalls(double least_seconds) const;
    /// Share of the worker's time in lane "sync" in which it also computed; 0 without any.
    double hidden_share(std::uint32_t worker) const;
    /// A JSON array of complete events: one process per worker, one thread per lane.
    std::string to_chrome_trace() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rondo::training
