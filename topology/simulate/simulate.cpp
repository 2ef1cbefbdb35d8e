// Cuts the message, runs the model, extrapolates long pipelines and sums up the links.
#include "topology/simulate/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "topology/simulate/engine.hpp"

namespace rondo {
namespace {

using namespace simulation;

/// How a message of so many bytes is cut: as Plan::cut() does, but for rounding.
struct MessageCut {
    std::vector<double> units = {};
    double chunk = 0;         ///< bytes of a chunk of the largest unit
    double chunks = 0;        ///< of the largest unit, not rounded
    std::uint64_t whole = 0;  ///< the same, rounded up
};

MessageCut cut_message(const Schedule& schedule, const SimulationOptions& options) {
    MessageCut cut;
    const double shares = static_cast<double>(std::accumulate(
        schedule.unit_shares.begin(), schedule.unit_shares.end(), std::uint64_t{0}));
    double largest = 0;
    for (const std::uint64_t share : schedule.unit_shares) {
        cut.units.push_back(shares == 0 ? 0
                                        : static_cast<double>(options.bytes) *
                                              static_cast<double>(share) / shares);
        largest = std::max(largest, cut.units.back());
    }
    cut.chunk = schedule.channels.empty() ? std::max(largest, 1.0)
                                          : static_cast<double>(options.slot_bytes);
    cut.chunks = largest / cut.chunk;
    cut.whole = static_cast<std::uint64_t>(std::max(1.0, std::ceil(cut.chunks)));
    return cut;
}

/// Bytes of each unit in each of the chunks that are run. When these are not all, every unit gets
/// its mean, so that units of different sizes keep their proportions.
std::vector<double> chunk_bytes(const MessageCut& cut, std::uint32_t chunks) {
    std::vector<double> bytes;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        for (const double unit : cut.units) {
            bytes.push_back(chunks < cut.whole
                                ? unit / cut.chunks
                                : std::clamp(unit - chunk * cut.chunk, 0.0, cut.chunk));
        }
    }
    return bytes;
}

/// What takes some milliseconds.
std::uint32_t chunks_to_run(const Model& model) {
    constexpr std::size_t steps_to_run = 10'000;
    std::size_t steps = 1;
    for (const auto& lane : model.lanes) steps += lane.size();
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(steps_to_run / steps, 8, 64));
}

/// The chunks in the middle show how fast the full pipeline is; the beginning and the end were run.
double extrapolate(const std::vector<double>& ends, double chunks) {
    const std::size_t first = ends.size() / 3;
    const std::size_t last = 2 * ends.size() / 3;
    const double period = (ends[last] - ends[first]) / static_cast<double>(last - first);
    return ends.back() + period * (chunks - static_cast<double>(ends.size()));
}

std::vector<double> resource_bytes(const Model& model, const MessageCut& cut) {
    std::vector<double> bytes(model.capacities.size());
    for (const auto& lane : model.lanes) {
        for (const ModelStep& step : lane) {
            for (const auto& [resource, amount] : step.demand.uses) {
                bytes[resource] += amount * cut.units[step.unit];
            }
        }
    }
    return bytes;
}

/// What the busiest link or memory needs, and the launch.
double link_seconds(const Model& model, const MessageCut& cut) {
    const std::vector<double> used = resource_bytes(model, cut);
    double seconds = 0;
    for (std::size_t i = 0; i < used.size(); ++i) {
        seconds = std::max(seconds, used[i] / model.capacities[i]);
    }
    return model.entry_seconds + seconds;
}

std::vector<LinkUse> link_uses(const Model& model, const MessageCut& cut, std::size_t links,
                               double seconds) {
    const std::vector<double> bytes = resource_bytes(model, cut);
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
            return others;
        default:
            return 1;
    }
}

double least_seconds(const Schedule& schedule, const Routing& routing, std::uint64_t bytes) {
    return link_seconds(make_model(schedule, routing), cut_message(schedule, {.bytes = bytes}));
}

Simulation simulate(const Schedule& schedule, const Routing& routing,
                    const SimulationOptions& options) {
    const Model model = make_model(schedule, routing);
    const MessageCut cut = cut_message(schedule, options);
    Simulation result{.chunks = cut.whole};
    const std::uint64_t most =
        options.most_chunks == 0 ? chunks_to_run(model) : std::max(options.most_chunks, 6u);
    result.chunks_run = static_cast<std::uint32_t>(std::min(cut.whole, most));
    EngineResult run = run_engine(model,
                                  {.chunks = result.chunks_run,
                                   .coarseness = options.coarseness,
                                   .timeline = options.timeline},
                                  chunk_bytes(cut, result.chunks_run));
    if (run.stuck) {
        throw InvalidArgument(
            fmt::format("the schedule '{}' never ends: verify() says why", schedule.name));
    }
    result.seconds = result.chunks_run < cut.whole ? extrapolate(run.chunk_ends, cut.chunks)
                                                   : run.chunk_ends.back();
    // Rounding and extrapolation must not beat the links.
    result.seconds = std::max(result.seconds, link_seconds(model, cut));
    result.algbw = static_cast<double>(options.bytes) / result.seconds;
    result.busbw = result.algbw * bus_factor(schedule.collective, schedule.ranks);
    result.links = link_uses(model, cut, routing.topology().links().size(), result.seconds);
    result.steps = std::move(run.steps);
    return result;
}

}  // namespace rondo
