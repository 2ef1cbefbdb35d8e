// Turns operands into demands on links and memories, channels and events into flags.
#include "topology/simulate/model.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

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
            model_.first_step.push_back(static_cast<std::uint32_t>(model_.steps.size()));
            for (const Step& step : lane.steps) add_step(step, lane.rank);
        }
        model_.first_step.push_back(static_cast<std::uint32_t>(model_.steps.size()));
        start_step();
        count_lanes();
        return std::move(model_);
    }

private:
    const Path& path(std::uint32_t from, std::uint32_t to) const {
        const Path* const path = routing_.path(from, to);
        if (path == nullptr) no_way(schedule_, routing_, from, to);
        return *path;
    }

    void add_flags() {
        double farthest = 0;
        const auto infos = list_flags(schedule_);
        for (const FlagInfo& info : infos) {
            const bool forward = info.kind == FlagInfo::Kind::data;
            const std::uint32_t waiter = info.kind == FlagInfo::Kind::event
                                             ? schedule_.events[info.link].to_lane
                                         : forward ? schedule_.channels[info.link].to_lane
                                                   : schedule_.channels[info.link].from_lane;
            double seconds = own_flag_seconds(routing_.gpu(info.writer_rank).gpu);
            if (info.writer_rank != info.waiter_rank) {
                // A flag without data finds its way through host memory where nothing else does.
                const Path* const way = routing_.path(info.writer_rank, info.waiter_rank);
                seconds = way == nullptr ? flag_seconds(PathKind::pci) : way->flag_seconds();
            }
            farthest = std::max(farthest, seconds);
            model_.flags.push_back({info.per_chunk, waiter, seconds});
        }
        double launch = 0;
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            launch = std::max(launch, launch_seconds_of(routing_.gpu(rank).gpu));
        }
        model_.entry_seconds = launch + farthest;
    }

    void use(std::uint32_t resource, double amount) { uses_[resource] += amount; }
    void use_memory(std::uint32_t rank) { use(first_memory_ + rank, 1); }
    void use_path(const Path& path, double bytes = 1) {
        for (const Route& route : path.routes) {
            for (const int link : route.links) {
                use(static_cast<std::uint32_t>(link), route.share * bytes);
            }
        }
    }

    /// Reads a byte over this way, which leads from the memory to the reader.
    void use_to_read(const Path& way, std::uint32_t source, std::uint32_t rank) {
        const bool pci = way.kind >= PathKind::pci;
        use_path(way, pci ? pci_read_bytes : 1);
        if (pci) use_path(path(rank, source), pci_request_bytes);
    }

    std::uint32_t data_flag(std::uint32_t channel) const { return 2 * channel; }
    std::uint32_t credit_flag(std::uint32_t channel) const { return 2 * channel + 1; }
    std::uint32_t event_flag(std::uint32_t event) const {
        return static_cast<std::uint32_t>(2 * schedule_.channels.size()) + event;
    }

    ModelStep& start_step() {
        return model_.steps.emplace_back(
            ModelStep{.first_wait = static_cast<std::uint32_t>(model_.waits.size()),
                      .first_signal = static_cast<std::uint32_t>(model_.signals.size())});
    }

    void wait_for(std::uint32_t flag, std::int64_t offset) {
        model_.waits.push_back({flag, offset});
    }
    void signal(std::uint32_t flag) { model_.signals.push_back(flag); }

    void add_step(const Step& step, std::uint32_t rank) {
        ModelStep& result = start_step();
        result.unit = step.unit;
        places_.assign({rank, static_cast<std::uint32_t>(step.sources.size())});
        for (const std::uint32_t event : step.waits) {
            wait_for(event_flag(event), ++positions_[event_flag(event)]);
        }
        for (const Operand& operand : step.sources) add_source(operand, rank);
        for (const Operand& operand : step.destinations) add_destination(operand);
        for (const std::uint32_t event : step.signals) signal(event_flag(event));
        const auto [known, is_new] =
            kinds_.try_emplace(places_, static_cast<std::uint32_t>(model_.kinds.size()));
        if (is_new) add_kind();
        result.kind = known->second;
    }

    void add_source(const Operand& operand, std::uint32_t rank) {
        if (operand.kind != Operand::Kind::channel) {
            places_.push_back(operand.index);
            return;
        }
        wait_for(data_flag(operand.index), ++positions_[data_flag(operand.index)]);
        signal(credit_flag(operand.index));
        places_.push_back(rank);
    }

    void add_destination(const Operand& operand) {
        if (operand.kind != Operand::Kind::channel) {
            places_.push_back(operand.index);
            return;
        }
        const Channel& channel = schedule_.channels[operand.index];
        const std::int64_t position = ++positions_[data_flag(operand.index)];
        wait_for(credit_flag(operand.index), position - std::int64_t{channel.depth});
        signal(data_flag(operand.index));
        places_.push_back(schedule_.lanes[channel.to_lane].rank);
    }

    /// Of the step whose memories are in `places_`.
    void add_kind() {
        const std::uint32_t rank = places_[0];
        const std::span<const std::uint32_t> memories = std::span(places_).subspan(2);
        const auto sources = memories.first(places_[1]);
        const auto destinations = memories.subspan(places_[1]);
        StepKind kind{.moves = !destinations.empty()};
        const GpuInfo& gpu = routing_.gpu(rank).gpu;
        const double lane = lane_bandwidth(gpu);
        double waiting_seconds_per_byte = 0;  // of all sources together
        uses_.clear();
        for (const std::uint32_t source : sources) {
            use_memory(source);
            double round_trip = gpu.costs ? 2 * own_flag_seconds(gpu) : own_memory_seconds;
            if (source != rank) {
                const Path& way = path(source, rank);
                use_to_read(way, source, rank);
                round_trip = 2 * way.flag_seconds();
                kind.read_seconds = std::max(kind.read_seconds, round_trip);
            }
            waiting_seconds_per_byte += round_trip / bytes_in_flight(gpu);
        }
        for (const std::uint32_t target : destinations) {
            use_memory(target);
            if (target == rank) continue;
            const Path& way = path(rank, target);
            use_path(way);
            kind.fence_seconds = std::max(kind.fence_seconds, fence_seconds(way.kind));
        }
        const double moves =
            std::max({1.0, static_cast<double>(sources.size()) / sources_at_lane_bandwidth(gpu),
                      static_cast<double>(destinations.size())});
        model_.kinds.push_back(kind);
        model_.demands.push_back({.uses = {uses_.begin(), uses_.end()},
                                  .ceiling = 1 / std::max(waiting_seconds_per_byte, moves / lane)});
    }

    void count_lanes() {
        std::vector<std::size_t> last(model_.kinds.size(), SIZE_MAX);
        for (std::size_t lane = 0; lane < model_.lanes(); ++lane) {
            for (std::uint32_t i = model_.first_step[lane]; i < model_.first_step[lane + 1]; ++i) {
                const std::uint32_t kind = model_.steps[i].kind;
                if (std::exchange(last[kind], lane) != lane) ++model_.demands[kind].most_at_once;
            }
        }
    }

    const Schedule& schedule_;
    const Routing& routing_;
    const std::uint32_t first_memory_;
    Model model_;
    std::vector<std::int64_t> positions_;  ///< of each flag in the lane that is being made
    /// Of the step that is being made: its rank, how many sources, whose memories it reads, whose
    /// it writes.
    std::vector<std::uint32_t> places_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> kinds_;
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
