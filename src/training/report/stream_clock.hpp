// Spans of a timeline that begin and end when a stream gets there, not when the host enqueues.
#pragma once

#include <memory>

#include "cuda/stream.hpp"
#include "rondo/training/timeline.hpp"

namespace rondo::training {

/// The worker's part of a timeline. Without a timeline it does nothing.
class StreamClock {
public:
    StreamClock() = default;
    StreamClock(Timeline* timeline, std::uint32_t worker) : timeline_(timeline), worker_(worker) {}

    bool active() const { return timeline_ != nullptr; }
    Timeline* timeline() const { return timeline_; }
    std::uint32_t worker() const { return worker_; }
    void set_step(std::uint64_t step) { step_ = step; }

    /// Enqueues the beginning; give the result to end(), which adds the span when the stream gets
    /// there. The timeline must live until then.
    struct Open {
        Timeline* timeline;
        TimelineSpan span;
    };
    std::unique_ptr<Open> begin(StreamRef stream, const char* lane, std::string name) const {
        if (timeline_ == nullptr) return nullptr;
        auto open =
            std::make_unique<Open>(Open{timeline_, {worker_, lane, std::move(name), step_, 0, 0}});
        stream.call_host(
            [](void* data) {
                Open& at = *static_cast<Open*>(data);
                at.span.begin = at.timeline->now();
            },
            open.get());
        return open;
    }
    /// The stream owns the span from now on.
    static void end(StreamRef stream, std::unique_ptr<Open> open) {
        if (open == nullptr) return;
        stream.call_host(
            [](void* data) {
                const std::unique_ptr<Open> at(static_cast<Open*>(data));
                at->span.end = at->timeline->now();
                at->timeline->add(std::move(at->span));
            },
            open.release());
    }
    /// A span of the host.
    void add(const char* lane, std::string name, double from) const {
        if (timeline_ == nullptr) return;
        timeline_->add({worker_, lane, std::move(name), step_, from, timeline_->now()});
    }
    double now() const { return timeline_ == nullptr ? 0 : timeline_->now(); }

private:
    Timeline* timeline_ = nullptr;
    std::uint32_t worker_ = 0;
    std::uint64_t step_ = 0;
};

}  // namespace rondo::training
