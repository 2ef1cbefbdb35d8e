// The event loop: steps begin when their flags are there, transfers end when their bytes are moved,
// and whenever the set of transfers changes they share the links anew.
//
// A flag's arrivals are kept as times, so that a step knows when it may begin as soon as all its
// flags are posted; only beginnings and ends are events. Those that are close together are handled
// as one, each with its own time: that is what `coarseness` saves.
#include "topology/simulate/engine.hpp"

#include <algorithm>
#include <queue>

namespace rondo::simulation {
namespace {

constexpr std::uint32_t nobody = UINT32_MAX;

struct LaneState {
    std::uint32_t chunk = 0;
    std::uint32_t step = 0;
    double free_at = 0;              ///< its last step has ended
    double ready = 0;                ///< of the step that is running
    std::uint32_t missing = nobody;  ///< the flag that it waits for
    std::int64_t wanted = 0;
};

struct Start {
    double time = 0;
    std::uint32_t lane = 0;
    bool operator>(const Start& other) const {
        return time != other.time ? time > other.time : lane > other.lane;
    }
};

struct Transfer {
    std::uint32_t lane = 0;
    double began = 0;
    double left = 0;  ///< bytes, at the time of the last distribution
    double rate = 0;
};

class Engine {
public:
    Engine(const Model& model, const EngineOptions& options, const std::vector<double>& bytes)
        : model_(model),
          options_(options),
          bytes_(bytes),
          units_(options.chunks == 0 ? 0 : bytes.size() / options.chunks),
          lanes_(model.lanes.size()),
          arrivals_(model.flags.size()),
          sharing_(model.capacities) {
        result_.chunk_ends.resize(options.chunks);
        for (std::size_t flag = 0; flag < arrivals_.size(); ++flag) {
            arrivals_[flag].reserve(model.flags[flag].per_chunk * options.chunks);
        }
    }

    EngineResult run() {
        for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
            lanes_[lane].free_at = model_.entry_seconds;
            next_step(lane);
        }
        while (!starts_.empty() || !transfers_.empty()) {
            handle_batch();
            distribute();
        }
        result_.stuck = std::ranges::any_of(
            lanes_, [](const LaneState& lane) { return lane.missing != nobody; });
        return std::move(result_);
    }

private:
    const ModelStep& step_of(std::uint32_t lane) const {
        return model_.lanes[lane][lanes_[lane].step];
    }

    /// Begins the step that the lane is at as soon as all its flags are there.
    void try_start(std::uint32_t lane) {
        LaneState& state = lanes_[lane];
        const ModelStep& step = step_of(lane);
        double ready = state.free_at;
        for (const ModelWait& wait : step.waits) {
            const std::int64_t wanted =
                std::int64_t{model_.flags[wait.flag].per_chunk} * state.chunk + wait.offset;
            if (wanted <= 0) continue;
            const auto& seen = arrivals_[wait.flag];
            if (static_cast<std::int64_t>(seen.size()) < wanted) {
                state.missing = wait.flag;
                state.wanted = wanted;
                return;
            }
            ready = std::max(ready, seen[static_cast<std::size_t>(wanted) - 1]);
        }
        state.missing = nobody;
        state.ready = ready;
        starts_.push({ready + step.read_seconds, lane});
    }

    /// The lane stands before a step, or behind the last of a chunk.
    void next_step(std::uint32_t lane) {
        LaneState& state = lanes_[lane];
        while (state.step == model_.lanes[lane].size()) {
            double& end = result_.chunk_ends[state.chunk];
            end = std::max(end, state.free_at);
            state.step = 0;
            if (++state.chunk == options_.chunks) return;
        }
        try_start(lane);
    }

    void end_step(std::uint32_t lane, double time) {
        LaneState& state = lanes_[lane];
        const ModelStep& step = step_of(lane);
        const double end = time + step.fence_seconds;
        if (options_.timeline) {
            result_.steps.push_back(
                {lane, state.step, state.chunk, state.ready, end, bytes_of(lane)});
        }
        state.free_at = end;
        ++state.step;
        for (const std::uint32_t flag : step.signals) {
            auto& seen = arrivals_[flag];
            const double arrival = end + model_.flags[flag].seconds;
            // What is written later is seen later.
            seen.push_back(seen.empty() ? arrival : std::max(arrival, seen.back()));
            const std::uint32_t waiter = model_.flags[flag].waiter;
            if (lanes_[waiter].missing == flag &&
                static_cast<std::int64_t>(seen.size()) >= lanes_[waiter].wanted) {
                try_start(waiter);
            }
        }
        next_step(lane);
    }

    double bytes_of(std::uint32_t lane) const {
        const LaneState& state = lanes_[lane];
        return bytes_[state.chunk * units_ + step_of(lane).unit];
    }

    void begin_step(const Start& start) {
        const ModelStep& step = step_of(start.lane);
        const double bytes = step.moves ? bytes_of(start.lane) : 0;
        if (bytes <= 0) {
            end_step(start.lane, start.time);
            return;
        }
        transfers_.push_back({start.lane, start.time, bytes, 0});
    }

    /// All beginnings and ends from the next one on, as far as the coarseness goes.
    void handle_batch() {
        double first = starts_.empty() ? 1e300 : starts_.top().time;
        for (const Transfer& transfer : transfers_) {
            first = std::min(first, now_ + transfer.left / transfer.rate);
        }
        const double horizon = std::max(first, now_) + options_.coarseness * mean_seconds_;
        std::size_t kept = 0;
        const std::size_t count = transfers_.size();
        ended_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            Transfer transfer = transfers_[i];
            const double end = now_ + transfer.left / transfer.rate;
            if (end <= horizon) {
                ended_.push_back({end, transfer.lane});
                note_duration(end - transfer.began);
                continue;
            }
            transfer.left -= transfer.rate * (horizon - now_);
            transfers_[kept++] = transfer;
        }
        transfers_.resize(kept);
        fresh_ = kept;
        now_ = horizon;
        std::ranges::sort(ended_, {},
                          [](const Start& end) { return std::pair(end.time, end.lane); });
        for (const Start& end : ended_) end_step(end.lane, end.time);
        while (!starts_.empty() && starts_.top().time <= horizon) {
            const Start start = starts_.top();
            starts_.pop();
            begin_step(start);
        }
    }

    void note_duration(double seconds) {
        ++durations_;
        mean_seconds_ += (seconds - mean_seconds_) / durations_;
    }

    void distribute() {
        demands_.clear();
        for (const Transfer& transfer : transfers_) {
            demands_.push_back(&step_of(transfer.lane).demand);
        }
        const std::vector<double>& rates = sharing_.rates(demands_);
        for (std::size_t i = 0; i < transfers_.size(); ++i) {
            transfers_[i].rate = rates[i];
            // Those that began a little before now have moved something already.
            if (i >= fresh_) transfers_[i].left -= rates[i] * (now_ - transfers_[i].began);
        }
    }

    const Model& model_;
    const EngineOptions& options_;
    const std::vector<double>& bytes_;
    const std::size_t units_;
    std::vector<LaneState> lanes_;
    std::vector<std::vector<double>> arrivals_;
    FairSharing sharing_;
    std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
    std::vector<Transfer> transfers_;
    std::size_t fresh_ = 0;  ///< transfers from here on began in this batch
    std::vector<Start> ended_;
    std::vector<const Demand*> demands_;
    double now_ = 0;
    double mean_seconds_ = 0;
    double durations_ = 0;
    EngineResult result_;
};

}  // namespace

EngineResult run_engine(const Model& model, const EngineOptions& options,
                        const std::vector<double>& chunk_bytes) {
    return Engine(model, options, chunk_bytes).run();
}

}  // namespace rondo::simulation
