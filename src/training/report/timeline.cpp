// See the header.
#include "rondo/training/timeline.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include <nlohmann/json.hpp>

namespace rondo::training {

struct Timeline::State {
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    mutable std::mutex mutex;
    std::vector<TimelineSpan> spans;
};

Timeline::Timeline() : state_(std::make_unique<State>()) {}
Timeline::~Timeline() = default;

double Timeline::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - state_->start).count();
}

void Timeline::add(TimelineSpan span) {
    const std::scoped_lock lock(state_->mutex);
    state_->spans.push_back(std::move(span));
}

std::vector<TimelineSpan> Timeline::spans() const {
    std::vector<TimelineSpan> spans;
    {
        const std::scoped_lock lock(state_->mutex);
        spans = state_->spans;
    }
    std::ranges::stable_sort(spans, std::less<>(), &TimelineSpan::begin);
    return spans;
}

std::vector<Stall> Timeline::stalls(double least_seconds) const {
    std::map<std::uint64_t, std::map<std::uint32_t, double>> ends;  // step, worker
    for (const TimelineSpan& span : spans()) {
        if (span.lane != "compute") continue;
        double& end = ends[span.step][span.worker];
        end = std::max(end, span.end);
    }
    std::vector<Stall> stalls;
    for (const auto& [step, workers] : ends) {
        std::vector<std::pair<double, std::uint32_t>> order;
        for (const auto& [worker, end] : workers) order.emplace_back(end, worker);
        std::ranges::sort(order);
        if (order.size() < 2) continue;
        const double wait = order.back().first - order[order.size() - 2].first;
        if (wait >= least_seconds) stalls.push_back({step, order.back().second, wait});
    }
    return stalls;
}

double Timeline::hidden_share(std::uint32_t worker) const {
    double all = 0, hidden = 0;
    const std::vector<TimelineSpan> every = spans();
    for (const TimelineSpan& sync : every) {
        if (sync.worker != worker || sync.lane != "sync") continue;
        all += sync.end - sync.begin;
        for (const TimelineSpan& compute : every) {
            if (compute.worker != worker || compute.lane != "compute") continue;
            hidden += std::max(
                0.0, std::min(sync.end, compute.end) - std::max(sync.begin, compute.begin));
        }
    }
    return all > 0 ? hidden / all : 0;
}

std::string Timeline::to_chrome_trace() const {
    using Json = nlohmann::ordered_json;
    Json events = Json::array();
    const auto name = [&](const char* what, std::uint32_t worker, int lane, std::string text) {
        events.push_back({{"name", what},
                          {"ph", "M"},
                          {"pid", worker},
                          {"tid", lane},
                          {"args", {{"name", std::move(text)}}}});
    };
    std::map<std::uint32_t, std::map<std::string, int>> lanes;  // by worker
    for (const TimelineSpan& span : spans()) {
        std::map<std::string, int>& own = lanes[span.worker];
        if (own.empty()) {
            name("process_name", span.worker, 0, "worker " + std::to_string(span.worker));
        }
        const auto [lane, is_new] = own.try_emplace(span.lane, static_cast<int>(own.size()));
        if (is_new) name("thread_name", span.worker, lane->second, span.lane);
        events.push_back({{"name", span.name},
                          {"cat", span.lane},
                          {"ph", "X"},
                          {"pid", span.worker},
                          {"tid", lane->second},
                          {"ts", span.begin * 1e6},
                          {"dur", (span.end - span.begin) * 1e6},
                          {"args", {{"step", span.step}}}});
    }
    return events.dump(1);
}

}  // namespace rondo::training
