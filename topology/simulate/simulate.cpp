// Cuts the message, runs the model and sums up the links.
#include "topology/simulate/simulate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "topology/simulate/engine.hpp"

namespace rondo {

using namespace simulation;

/// Groups that stand for many replicas: with fewer, their stalls show more than those of replicas
/// would.
constexpr std::uint32_t most_groups = 4;

/// How a message of so many bytes is cut: as the communicator does, but for rounding.
struct Simulator::MessageCut {
    std::vector<double> units = {};
    std::uint32_t replicas = 1;
    std::uint32_t groups = 1;
    double chunk = 0;         ///< bytes of a group's chunk of the largest unit
    double chunks = 0;        ///< of the largest unit, the last group's shift included; not rounded
    std::uint64_t whole = 0;  ///< the same, rounded up

    double shift(std::uint32_t group) const { return static_cast<double>(group) / groups; }
    /// Chunks in which a unit passes, without the shift.
    double periods() const { return chunks - shift(groups - 1); }

    /// Bytes of each unit in each of the chunks that are run, group after group. When these are not
    /// all, every unit gets its mean, so that units of different sizes keep their proportions.
    std::vector<double> chunk_bytes(std::uint32_t run) const {
        std::vector<double> bytes;
        bytes.reserve(std::size_t{run} * groups * units.size());
        for (std::uint32_t group = 0; group < groups; ++group) {
            for (std::uint32_t i = 0; i < run; ++i) {
                const double begin = std::max(0.0, i - shift(group));
                const double end = i + 1 - shift(group);
                for (const double unit : units) {
                    const double share = unit / groups;
                    bytes.push_back(run < whole ? share / periods() * (end - begin)
                                                : std::clamp(share - begin * chunk, 0.0,
                                                             (end - begin) * chunk));
                }
            }
        }
        return bytes;
    }
};

namespace {

/// What takes some milliseconds. Fewer than 32 would not show how fast a pipeline is whose channels
/// have all been full once: at first nobody waits for a free slot. Without slots some lanes get far
/// ahead, and it takes longer until that shows.
std::uint32_t chunks_to_run(const Model& model, std::uint32_t groups, bool has_slots) {
    const std::size_t steps_to_run = has_slots ? 20'000 : 40'000;
    return static_cast<std::uint32_t>(
        std::clamp<std::size_t>(steps_to_run / groups / model.steps.size(), 32, 80));
}

std::vector<double> resource_bytes(const Model& model, const std::vector<double>& units) {
    std::vector<double> moved(model.kinds.size());
    for (std::size_t i = 0; i + 1 < model.steps.size(); ++i) {
        moved[model.steps[i].kind] += units[model.steps[i].unit];
    }
    std::vector<double> bytes(model.capacities.size());
    for (std::size_t kind = 0; kind < moved.size(); ++kind) {
        for (const auto& [resource, amount] : model.demands[kind].uses) {
            bytes[resource] += amount * moved[kind];
        }
    }
    return bytes;
}

std::vector<LinkUse> link_uses(const Model& model, const std::vector<double>& units,
                               std::size_t links, double seconds) {
    const std::vector<double> bytes = resource_bytes(model, units);
    std::vector<LinkUse> uses;
    for (std::size_t link = 0; link < links; ++link) {
        if (bytes[link] <= 0) continue;
        uses.push_back(
            {static_cast<int>(link), bytes[link], bytes[link] / model.capacities[link] / seconds});
    }
    std::ranges::stable_sort(uses, std::greater<>(), &LinkUse::busy);
    return uses;
}

}  // namespace

double bus_factor(Collective collective, std::uint32_t ranks) {
    const double others = static_cast<double>(ranks - 1) / ranks;
    switch (collective) {
        case Collective::all_reduce:
            return 2 * others;
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::all_to_all:
        case Collective::gather:
        case Collective::scatter:
            return others;
        default:
            return 1;
    }
}

/// What share of the message each unit is. Parts that belong to ranks are taken as equal: what
/// ranks bring is not known when a plan is made.
std::vector<double> parts_of_units(const Schedule& schedule) {
    const std::uint32_t parts = part_count(schedule);
    std::vector<double> wholes(parts);
    for (std::uint32_t unit = 0; unit < schedule.unit_shares.size(); ++unit) {
        wholes[part_of(schedule, unit)] += static_cast<double>(schedule.unit_shares[unit]);
    }
    std::vector<double> result;
    for (std::uint32_t unit = 0; unit < schedule.unit_shares.size(); ++unit) {
        const double whole = wholes[part_of(schedule, unit)] * parts;
        result.push_back(whole == 0 ? 0 : static_cast<double>(schedule.unit_shares[unit]) / whole);
    }
    return result;
}

Simulator::Simulator(const Schedule& schedule, const Routing& routing)
    : name_(schedule.name),
      bus_factor_(bus_factor(schedule.collective, schedule.ranks)),
      unit_parts_(parts_of_units(schedule)),
      has_chunks_(is_cut_into_chunks(schedule)),
      has_slots_(!schedule.channels.empty()),
      links_(routing.topology().links().size()),
      model_(std::make_unique<const Model>(make_model(schedule, routing))) {}

Simulator::~Simulator() = default;

double Simulator::largest_unit() const {
    return unit_parts_.empty() ? 0 : std::ranges::max(unit_parts_);
}

Simulator::MessageCut Simulator::cut(const SimulationOptions& options) const {
    MessageCut cut{.replicas = std::max(options.replicas, 1u)};
    double largest = 0;
    for (const double part : unit_parts_) {
        cut.units.push_back(static_cast<double>(options.bytes) * part);
        largest = std::max(largest, cut.units.back());
    }
    cut.chunk = largest / cut.replicas;
    if (has_chunks_) cut.chunk = static_cast<double>(options.slot_bytes);
    cut.chunk = std::max(cut.chunk, 1.0);
    cut.chunks = largest / cut.replicas / cut.chunk;
    // In a single chunk all replicas do the same at the same time.
    if (cut.chunks > 1) cut.groups = std::min(cut.replicas, most_groups);
    cut.chunks += cut.shift(cut.groups - 1);
    cut.chunk *= static_cast<double>(cut.replicas) / cut.groups;
    cut.whole = static_cast<std::uint64_t>(std::max(1.0, std::ceil(cut.chunks)));
    return cut;
}

double Simulator::least_seconds(const MessageCut& cut) const {
    const std::vector<double> used = resource_bytes(*model_, cut.units);
    double seconds = 0;
    for (std::size_t i = 0; i < used.size(); ++i) {
        seconds = std::max(seconds, used[i] / model_->capacities[i]);
    }
    for (std::size_t lane = 0; lane < model_->lanes(); ++lane) {
        double busy = 0;
        for (std::uint32_t i = model_->first_step[lane]; i < model_->first_step[lane + 1]; ++i) {
            const ModelStep& step = model_->steps[i];
            if (model_->kinds[step.kind].moves) {
                busy += cut.units[step.unit] / model_->demands[step.kind].ceiling;
            }
        }
        seconds = std::max(seconds, busy / cut.replicas);
    }
    return model_->entry_seconds + seconds;
}

double Simulator::least_seconds(std::uint64_t bytes, std::uint32_t replicas) const {
    return least_seconds(cut({.bytes = bytes, .slot_bytes = 1, .replicas = replicas}));
}

/// Without slots nothing keeps lanes together: what gets ahead of the others in the middle is
/// missing at the end. Then it is the end that tells, less what a single chunk takes.
double Simulator::all_seconds(const EngineResult& run, const MessageCut& cut) const {
    const auto chunks = static_cast<std::uint32_t>(run.chunk_ends.size());
    if (has_slots_ || chunks >= cut.chunks || chunks == 1) {
        return extrapolated_seconds(run.chunk_ends, cut.chunks);
    }
    const double first = run_engine(*model_,
                                    {.groups = cut.groups,
                                     .widening = static_cast<double>(cut.replicas) / cut.groups},
                                    cut.chunk_bytes(1))
                             .chunk_ends.back();
    return first + (run.chunk_ends.back() - first) * (cut.chunks - 1) / (chunks - 1);
}

Simulation Simulator::run(const SimulationOptions& options) const {
    const MessageCut cut = this->cut(options);
    Simulation result{.chunks = cut.whole, .groups = cut.groups};
    const std::uint64_t most = options.most_chunks == 0
                                   ? chunks_to_run(*model_, cut.groups, has_slots_)
                                   : std::max(options.most_chunks, 6u);
    result.chunks_run = static_cast<std::uint32_t>(std::min(cut.whole, most));
    EngineResult run = run_engine(*model_,
                                  {.chunks = result.chunks_run,
                                   .groups = cut.groups,
                                   .widening = static_cast<double>(cut.replicas) / cut.groups,
                                   .coarseness = options.coarseness,
                                   .timeline = options.timeline,
                                   .most_seconds = options.most_seconds,
                                   .all_chunks = has_slots_ ? cut.chunks : result.chunks_run},
                                  cut.chunk_bytes(result.chunks_run));
    if (run.stuck) {
        throw InvalidArgument(
            fmt::format("the schedule '{}' never ends: verify() says why", name_));
    }
    result.gave_up = run.gave_up;
    // Rounding and extrapolation must not beat the links.
    result.seconds =
        std::max(run.gave_up ? run.at_least : all_seconds(run, cut), least_seconds(cut));
    result.algbw = static_cast<double>(options.bytes) / result.seconds;
    result.busbw = result.algbw * bus_factor_;
    if (run.gave_up) return result;
    result.links = link_uses(*model_, cut.units, links_, result.seconds);
    result.steps = std::move(run.steps);
    return result;
}

Simulation simulate(const Schedule& schedule, const Routing& routing,
                    const SimulationOptions& options) {
    return Simulator(schedule, routing).run(options);
}

}  // namespace rondo
