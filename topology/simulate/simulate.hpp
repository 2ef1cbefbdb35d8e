// How long a schedule takes on a machine that need not be there: event-driven, over the links.
//
// A step waits for its flags, then its transfer takes part of every link between the ranks that it
// reads from or writes to, of their memories and of its block; transfers that meet share max-min
// fair. Then the block waits for its writes to arrive and posts its flags. Lanes, channels, depths
// and credits are those of the schedule, chunks those of the slots. In-switch reduction (NVLS) is
// outside the model. docs/simulator.md has the model and how far it can be trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/schedule.hpp"
#include "topology/simulate/routes.hpp"

namespace rondo {

struct SimulationOptions {
    std::uint64_t bytes = 0;               ///< of the whole message
    std::uint64_t slot_bytes = 128 << 10;  ///< of a replica's chunk, where there are chunks
    /// Of the schedule, side by side, each on its contiguous share of every unit. Where there are
    /// several chunks, those of replica r end earlier by r/R of a chunk, so that replicas don't all
    /// stall at the same time. A few groups stand for many replicas: such a group has the chunk and
    /// the block bandwidth of all its replicas.
    std::uint32_t replicas = 1;
    /// Longer pipelines run so many chunks; the time of the others is that of those in the middle.
    /// 0: 32 to 80, fewer the more steps there are.
    std::uint32_t most_chunks = 0;
    /// Transfers that begin or end within this part of their mean time share a new distribution of
    /// rates. 0: each for itself.
    double coarseness = 0.05;
    bool timeline = false;  ///< keep when each step ran
    /// A run that is known to take longer ends early: Simulation::gave_up.
    double most_seconds = 1e300;
};

/// One step's run.
struct StepTime {
    std::uint32_t lane = 0;
    std::uint32_t group = 0;  ///< of replicas
    std::uint32_t step = 0;
    std::uint32_t chunk = 0;
    double ready = 0;  ///< seconds from the call: its flags are there
    double end = 0;    ///< its flags are posted
    double bytes = 0;  ///< of the group's chunk
};

struct LinkUse {
    int link = 0;      ///< index into Topology::links()
    double bytes = 0;  ///< that it carries
    double busy = 0;   ///< share of the time that this takes at full bandwidth
};

struct Simulation {
    double seconds = 0;
    double algbw = 0;  ///< bytes of the message per second
    double busbw = 0;  ///< algbw times what nccl-tests multiplies it with
    std::uint64_t chunks = 0;
    std::uint32_t groups = 1;          ///< that stood for the replicas
    std::uint32_t chunks_run = 0;      ///< fewer than `chunks`: the rest was extrapolated
    std::vector<LinkUse> links = {};   ///< busiest first, without those that carry nothing
    std::vector<StepTime> steps = {};  ///< by their end; of the chunks that were run
    /// It takes longer than was asked for, `seconds` or more; links and steps are not there.
    bool gave_up = false;
};

namespace simulation {
struct Model;
struct EngineResult;
}  // namespace simulation

/// A schedule on a topology, ready to be simulated for messages of different sizes. Keeps neither
/// of them.
class Simulator {
public:
    /// `schedule` must be valid, with a rank for each of the routing's. Throws InvalidArgument when
    /// the ranks differ, and when nothing joins two ranks that exchange data.
    Simulator(const Schedule& schedule, const Routing& routing);
    ~Simulator();

    /// Seconds that the busiest link alone needs, or the busiest lane by so many replicas, and the
    /// launch: no run is faster.
    double least_seconds(std::uint64_t bytes, std::uint32_t replicas) const;
    /// The share of the message that the largest unit has.
    double largest_unit() const;
    /// Throws InvalidArgument when the schedule can't come to an end.
    Simulation run(const SimulationOptions& options) const;

private:
    struct MessageCut;

    MessageCut cut(const SimulationOptions& options) const;
    double least_seconds(const MessageCut& cut) const;
    double all_seconds(const simulation::EngineResult& run, const MessageCut& cut) const;

    std::string name_;
    double bus_factor_ = 1;
    std::vector<double> unit_parts_;  ///< of the message
    bool has_chunks_ = false;
    bool has_slots_ = false;
    std::size_t links_ = 0;
    std::unique_ptr<const simulation::Model> model_;
};

/// One run. Throws as Simulator does.
Simulation simulate(const Schedule& schedule, const Routing& routing,
                    const SimulationOptions& options);

/// What the links carry per byte of result, as nccl-tests has it.
double bus_factor(Collective collective, std::uint32_t ranks);

/// The steps as Chrome's trace events, for chrome://tracing and ui.perfetto.dev: a process per
/// rank, a thread per lane.
std::string chrome_trace(const Schedule& schedule, const Routing& routing,
                         const Simulation& simulation);

}  // namespace rondo
