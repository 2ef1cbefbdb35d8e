// How long the tasks of a step took on a device, and how long all of them together with the gaps.
#pragma once

#include <vector>

#include "cuda/event.hpp"
#include "training/engine/runner.hpp"

namespace rondo::training {

class TaskClock {
public:
    TaskClock(DeviceId device, std::size_t tasks) {
        for (std::size_t i = 0; i < 2 * tasks; ++i) {
            events_.emplace_back(device, EventOptions{.timing = true});
        }
    }

    void begin_step() { next_ = 0; }
    /// Where a task begins and where it ends, by turns.
    void mark(StreamRef stream) { events_[next_++].record(stream); }
    /// All marks of the step are behind the device.
    void add_step() {
        if (next_ == 0) return;
        for (std::size_t i = 0; i + 1 < next_; i += 2) times_.busy += seconds(i, i + 1);
        times_.whole += seconds(0, next_ - 1);
    }
    const PipelineTimes& times() const { return times_; }

private:
    double seconds(std::size_t from, std::size_t to) const {
        return 1e-3 * static_cast<double>(elapsed_milliseconds(events_[from], events_[to]));
    }

    std::vector<Event> events_;
    std::size_t next_ = 0;
    PipelineTimes times_;
};

}  // namespace rondo::training
