// The event loop: steps begin when their flags are there, transfers end when their bytes are moved,
// and whenever the set of transfers changes they share the links anew.
//
// A flag's arrivals are kept as times, so that a step knows when it may begin as soon as all its
// flags are posted; only beginnings and ends are events. Those that are close together are handled
// as one, each with its own time: that is what `coarseness` saves.
#include "topology/simulate/engine.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace rondo::simulation {
namespace {

constexpr std::uint32_t nobody = UINT32_MAX;

struct LaneState {
    std::uint32_t number = 0;  ///< in the model
    std::uint32_t group = 0;
    std::uint32_t chunk = 0;
    std::uint32_t step = 0;
    double free_at = 0;              ///< its last step has ended
    double ready = 0;                ///< of the step that is running
    std::uint32_t missing = nobody;  ///< the flag of its group that it waits for
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
    std::uint32_t kind = 0;
    double began = 0;
    double since = 0;  ///< `left` and `rate` hold from here on
    double left = 0;   ///< bytes
    double rate = 0;
    double end = 0;
};

/// The chunks between these are in the middle.
std::pair<std::size_t, std::size_t> middle(std::size_t chunks) {
    return {chunks / 4, 3 * chunks / 4};
}

/// What transfers of groups ask for.
std::vector<Demand> grouped(std::vector<Demand> demands, const EngineOptions& options) {
    for (Demand& demand : demands) {
        demand.ceiling *= options.widening;
        demand.most_at_once *= options.groups;
    }
    return demands;
}

double period(const std::vector<double>& ends) {
    const auto [first, last] = middle(ends.size());
    return (ends[last] - ends[first]) / static_cast<double>(last - first);
}

class Engine {
public:
    Engine(const Model& model, const EngineOptions& options, const std::vector<double>& bytes)
        : model_(model),
          options_(options),
          bytes_(bytes),
          units_(bytes.size() / options.chunks / options.groups),
          flags_(static_cast<std::uint32_t>(model.flags.size())),
          sharing_(model.capacities, grouped(model.demands, options)) {
        const auto all_lanes = static_cast<std::uint32_t>(model.lanes() * options.groups);
        for (std::uint32_t lane = 0; lane < all_lanes; ++lane) {
            const auto number = static_cast<std::uint32_t>(lane % model.lanes());
            const auto group = static_cast<std::uint32_t>(lane / model.lanes());
            lanes_.push_back({.number = number, .group = group});
        }
        lanes_left_.assign(options.chunks, all_lanes);
        result_.chunk_ends.resize(options.chunks);
        std::size_t arrivals = 0;
        for (std::uint32_t group = 0; group < options.groups; ++group) {
            for (const ModelFlag& flag : model.flags) {
                first_arrival_.push_back(arrivals);
                arrivals += std::size_t{flag.per_chunk} * options.chunks;
            }
        }
        arrivals_.resize(arrivals);
        seen_.resize(first_arrival_.size());
    }

    EngineResult run() {
        for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
            lanes_[lane].free_at = model_.entry_seconds;
            next_step(lane);
        }
        while (!starts_.empty() || !transfers_.empty()) {
            handle_batch();
            distribute();
            if (at_least_ + tail_seconds_ > options_.most_seconds) {
                result_.gave_up = true;
                result_.at_least = at_least_ + tail_seconds_;
                return std::move(result_);
            }
        }
        result_.stuck = std::ranges::any_of(
            lanes_, [](const LaneState& lane) { return lane.missing != nobody; });
        return std::move(result_);
    }

private:
    const ModelStep* step_of(std::uint32_t lane) const {
        const LaneState& state = lanes_[lane];
        return &model_.steps[model_.first_step[state.number] + state.step];
    }

    /// Begins the step that the lane is at as soon as all its flags are there.
    void try_start(std::uint32_t lane) {
        LaneState& state = lanes_[lane];
        const ModelStep* const step = step_of(lane);
        double ready = state.free_at;
        for (std::uint32_t i = step->first_wait; i < step[1].first_wait; ++i) {
            const ModelWait& wait = model_.waits[i];
            const std::int64_t wanted =
                std::int64_t{model_.flags[wait.flag].per_chunk} * state.chunk + wait.offset;
            if (wanted <= 0) continue;
            const std::uint32_t flag = state.group * flags_ + wait.flag;
            if (seen_[flag] < wanted) {
                state.missing = flag;
                state.wanted = wanted;
                return;
            }
            ready = std::max(ready, arrival(flag, wanted));
        }
        state.missing = nobody;
        state.ready = ready;
        starts_.push({ready + model_.kinds[step->kind].read_seconds, lane});
    }

    /// When the flag was seen to have this value.
    double& arrival(std::uint32_t flag, std::int64_t value) {
        return arrivals_[first_arrival_[flag] + static_cast<std::size_t>(value) - 1];
    }

    /// The lane stands before a step, or behind the last of a chunk.
    void next_step(std::uint32_t lane) {
        LaneState& state = lanes_[lane];
        while (model_.first_step[state.number] + state.step ==
               model_.first_step[state.number + 1]) {
            end_chunk(state);
            state.step = 0;
            if (++state.chunk == options_.chunks) return;
        }
        try_start(lane);
    }

    void end_chunk(const LaneState& state) {
        double& end = result_.chunk_ends[state.chunk];
        end = std::max(end, state.free_at);
        if (--lanes_left_[state.chunk] == 0 && state.chunk == middle(options_.chunks).second &&
            options_.chunks < options_.all_chunks) {
            tail_seconds_ = period(result_.chunk_ends) * (options_.all_chunks - options_.chunks);
        }
    }

    void post(std::uint32_t group, std::uint32_t number, double posted) {
        const std::uint32_t flag = group * flags_ + number;
        const double time = posted + model_.flags[number].seconds;
        const std::int64_t value = ++seen_[flag];
        // What is written later is seen later.
        arrival(flag, value) = value == 1 ? time : std::max(time, arrival(flag, value - 1));
        const auto waiter =
            static_cast<std::uint32_t>(group * model_.lanes()) + model_.flags[number].waiter;
        if (lanes_[waiter].missing == flag && value >= lanes_[waiter].wanted) try_start(waiter);
    }

    void end_step(std::uint32_t lane, double time) {
        LaneState& state = lanes_[lane];
        const ModelStep* const step = step_of(lane);
        const double end = time + model_.kinds[step->kind].fence_seconds;
        if (options_.timeline) {
            result_.steps.push_back({state.number, state.group, state.step, state.chunk,
                                     state.ready, end, bytes_of(lane)});
        }
        state.free_at = end;
        ++state.step;
        for (std::uint32_t i = step->first_signal; i < step[1].first_signal; ++i) {
            post(state.group, model_.signals[i], end);
        }
        next_step(lane);
    }

    double bytes_of(std::uint32_t lane) const {
        const LaneState& state = lanes_[lane];
        const std::size_t chunk = std::size_t{state.group} * options_.chunks + state.chunk;
        return bytes_[chunk * units_ + step_of(lane)->unit];
    }

    void begin_step(const Start& start) {
        const std::uint32_t kind = step_of(start.lane)->kind;
        const double bytes = model_.kinds[kind].moves ? bytes_of(start.lane) : 0;
        if (bytes <= 0) {
            end_step(start.lane, start.time);
            return;
        }
        transfers_.push_back({.lane = start.lane,
                              .kind = kind,
                              .began = start.time,
                              .since = start.time,
                              .left = bytes});
        sharing_.begin(kind);
    }

    /// All beginnings and ends from the next one on, as far as the coarseness goes.
    void handle_batch() {
        double first = starts_.empty() ? 1e300 : starts_.top().time;
        for (const Transfer& transfer : transfers_) first = std::min(first, transfer.end);
        at_least_ = first;
        now_ = std::max(first, now_) + options_.coarseness * mean_seconds_;
        ended_.clear();
        std::erase_if(transfers_, [&](const Transfer& transfer) {
            if (transfer.end > now_) return false;
            ended_.push_back({transfer.end, transfer.lane});
            note_duration(transfer.end - transfer.began);
            sharing_.end(transfer.kind);
            return true;
        });
        std::ranges::sort(ended_, {},
                          [](const Start& end) { return std::pair(end.time, end.lane); });
        for (const Start& end : ended_) end_step(end.lane, end.time);
        while (!starts_.empty() && starts_.top().time <= now_) {
            const Start start = starts_.top();
            starts_.pop();
            begin_step(start);
        }
    }

    void note_duration(double seconds) {
        ++durations_;
        mean_seconds_ += (seconds - mean_seconds_) / durations_;
    }

    /// Those that began a little before now have moved something already, at their first rate.
    void distribute() {
        sharing_.share();
        for (Transfer& transfer : transfers_) {
            const double rate = sharing_.rate(transfer.kind);
            if (rate == transfer.rate) continue;
            if (transfer.rate != 0) {
                transfer.left -= transfer.rate * (now_ - transfer.since);
                transfer.since = now_;
            }
            transfer.rate = rate;
            transfer.end = transfer.since + transfer.left / rate;
        }
    }

    const Model& model_;
    const EngineOptions& options_;
    const std::vector<double>& bytes_;
    const std::size_t units_;
    const std::uint32_t flags_;       ///< of a group
    std::vector<LaneState> lanes_;    ///< group after group
    std::vector<std::int64_t> seen_;  ///< values of the flags
    std::vector<std::size_t> first_arrival_;
    std::vector<double> arrivals_;  ///< flag after flag, the time of each of its values
    FairSharing sharing_;
    std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
    std::vector<Transfer> transfers_;
    std::vector<Start> ended_;
    double now_ = 0;
    double at_least_ = 0;  ///< the last chunk ends here or later
    double mean_seconds_ = 0;
    double durations_ = 0;
    std::vector<std::uint32_t> lanes_left_;  ///< that have not ended the chunk
    double tail_seconds_ = 0;                ///< of the chunks that are not run, once it is known
    EngineResult result_;
};

}  // namespace

EngineResult run_engine(const Model& model, const EngineOptions& options,
                        const std::vector<double>& chunk_bytes) {
    return Engine(model, options, chunk_bytes).run();
}

double extrapolated_seconds(const std::vector<double>& chunk_ends, double chunks) {
    const double more = chunks - static_cast<double>(chunk_ends.size());
    return chunk_ends.back() + (more > 0 ? period(chunk_ends) * more : 0);
}

}  // namespace rondo::simulation
