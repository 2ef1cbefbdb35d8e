// Turns operands into demands on links and memories, channels and events into flags.
#include "topology/simulate/model.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "schedule/lower.hpp"

namespace rondo::simulation {
namespace {

/// What is said when the links that may be used don't join two ranks.
[[noreturn]] void no_way(const Schedule& schedule, const Routing& routing, std::uint32_t from,
                         std::uint32_t to) {
    throw InvalidArgument(fmt::format(
        "{}: nothing joins GPU {} and GPU {}{}", schedule.name, routing.gpus()[from],
        routing.gpus()[to], routing.fabric_only() ? " over NVLink, XGMI or memory alone" : ""));
}

class ModelMaker {
public:
    ModelMaker(const Schedule& schedule, const Routing& routing)
        : schedule_(schedule),
          routing_(routing),
          first_memory_(static_cast<std::uint32_t>(routing.topology().links().size())) {}

    Model run() {
        for (const Link& link : routing_.topology().links()) {
            model_.capacities.push_back(static_cast<double>(link.bandwidth(routing_.model())));
        }
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            model_.capacities.push_back(memory_bandwidth(routing_.gpu(rank).gpu));
        }
        add_flags();
        positions_.resize(model_.flags.size());
        for (const Lane& lane : schedule_.lanes) {
            std::ranges::fill(positions_, 0);
            model_.lanes.emplace_back();
            for (const Step& step : lane.steps) {
                model_.lanes.back().push_back(model_step(step, lane.rank));
            }
        }
        return std::move(model_);
    }

private:
    const Path& path(std::uint32_t from, std::uint32_t to) const {
        const Path* const path = routing_.path(from, to);
        if (path == nullptr) no_way(schedule_, routing_, from, to);
        return *path;
    }

    bool is_virtual_rank(std::uint32_t rank) const { return is_virtual(routing_.gpu(rank).gpu); }

    void add_flags() {
        double farthest = 0;
        const auto infos = list_flags(schedule_);
        for (const FlagInfo& info : infos) {
            const bool forward = info.kind == FlagInfo::Kind::data;
            const std::uint32_t waiter = info.kind == FlagInfo::Kind::event
                                             ? schedule_.events[info.link].to_lane
                                         : forward ? schedule_.channels[info.link].to_lane
                                                   : schedule_.channels[info.link].from_lane;
            double seconds = flag_seconds(PathKind::memory);
            if (info.writer_rank != info.waiter_rank) {
                // A flag without data finds its way through host memory where nothing else does.
                const Path* const way = routing_.path(info.writer_rank, info.waiter_rank);
                seconds = way == nullptr ? flag_seconds(PathKind::pci) : way->flag_seconds();
            } else if (!is_virtual_rank(info.writer_rank)) {
                seconds = flag_seconds(PathKind::fabric);
            }
            farthest = std::max(farthest, seconds);
            model_.flags.push_back({info.per_chunk, waiter, seconds});
        }
        model_.entry_seconds =
            (is_virtual_rank(0) ? virtual_launch_seconds : launch_seconds) + farthest;
    }

    void use(std::uint32_t resource, double amount) { uses_[resource] += amount; }
    void use_memory(std::uint32_t rank) { use(first_memory_ + rank, 1); }
    void use_path(const Path& path) {
        for (const Route& route : path.routes) {
            for (const int link : route.links) use(static_cast<std::uint32_t>(link), route.share);
        }
    }

    std::uint32_t data_flag(std::uint32_t channel) const { return 2 * channel; }
    std::uint32_t credit_flag(std::uint32_t channel) const { return 2 * channel + 1; }
    std::uint32_t event_flag(std::uint32_t event) const {
        return static_cast<std::uint32_t>(2 * schedule_.channels.size()) + event;
    }

    ModelStep model_step(const Step& step, std::uint32_t rank) {
        ModelStep result{.unit = step.unit, .moves = !step.destinations.empty()};
        uses_.clear();
        for (const std::uint32_t event : step.waits) {
            const std::uint32_t flag = event_flag(event);
            result.waits.push_back({flag, ++positions_[flag]});
        }
        for (const Operand& operand : step.sources) add_source(result, operand, rank);
        for (const Operand& operand : step.destinations) add_destination(result, operand, rank);
        for (const std::uint32_t event : step.signals) result.signals.push_back(event_flag(event));
        const double wider = static_cast<double>(
            std::max({step.sources.size(), step.destinations.size(), std::size_t{1}}));
        result.demand.ceiling = lane_bandwidth(routing_.gpu(rank).gpu) / wider;
        result.demand.uses.assign(uses_.begin(), uses_.end());
        return result;
    }

    void add_source(ModelStep& step, const Operand& operand, std::uint32_t rank) {
        if (operand.kind == Operand::Kind::channel) {
            const std::uint32_t flag = data_flag(operand.index);
            step.waits.push_back({flag, ++positions_[flag]});
            step.signals.push_back(credit_flag(operand.index));
            use_memory(rank);
            return;
        }
        use_memory(operand.index);
        if (operand.index != rank) {
            const Path& way = path(operand.index, rank);
            use_path(way);
            step.read_seconds = std::max(step.read_seconds, 2 * way.flag_seconds());
        }
    }

    void add_destination(ModelStep& step, const Operand& operand, std::uint32_t rank) {
        std::uint32_t target = operand.index;
        if (operand.kind == Operand::Kind::channel) {
            const Channel& channel = schedule_.channels[operand.index];
            const std::int64_t position = ++positions_[data_flag(operand.index)];
            step.waits.push_back(
                {credit_flag(operand.index), position - std::int64_t{channel.depth}});
            step.signals.push_back(data_flag(operand.index));
            target = schedule_.lanes[channel.to_lane].rank;
        }
        use_memory(target);
        if (target != rank) {
            const Path& way = path(rank, target);
            use_path(way);
            step.fence_seconds = std::max(step.fence_seconds, fence_seconds(way.kind));
        }
    }

    const Schedule& schedule_;
    const Routing& routing_;
    const std::uint32_t first_memory_;
    Model model_;
    std::vector<std::int64_t> positions_;  ///< of each flag in the lane that is being made
    std::map<std::uint32_t, double> uses_;
};

}  // namespace

Model make_model(const Schedule& schedule, const Routing& routing) {
    if (schedule.ranks != routing.ranks()) {
        throw InvalidArgument(fmt::format("the schedule '{}' is for {} ranks; there are {} GPUs",
                                          schedule.name, schedule.ranks, routing.ranks()));
    }
    return ModelMaker(schedule, routing).run();
}

}  // namespace rondo::simulation
