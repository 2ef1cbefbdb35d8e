// A schedule that is ready to be simulated, and the best partition of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strategy/plan.hpp"
#include "strategy/strategy_entry.hpp"
#include "topology/simulate/simulate.hpp"

namespace rondo {

/// Serves every size: chunks and replicas are options of its simulation.
struct PreparedSchedule {
    Schedule schedule = {};
    std::unique_ptr<const Simulator> simulator = {};
    std::uint32_t lanes = 1;  ///< of the rank that has most
    std::uint64_t slots = 0;  ///< of all channels of the rank that has most
    std::size_t steps = 0;
    bool is_pipeline = false;  ///< some transfer waits for another
};

/// Throws as Simulator does.
PreparedSchedule prepare_schedule(Schedule schedule, const Routing& routing);

/// What a partition may use.
struct PartitionLimits {
    std::uint32_t max_blocks = 64;
    std::uint64_t scratch_bytes = 0;
    std::uint32_t replicas = 0;    ///< what the caller has fixed; 0: nothing
    std::uint64_t slot_bytes = 0;  ///< the same
};

struct PartitionResult {
    Partition partition = {};
    double seconds = 0;
    bool simulated = false;  ///< false: `seconds` or more
};

/// Looks for the partition with which a message of so many bytes is fastest.
class PartitionSearch {
public:
    /// Throws InvalidArgument when the limits leave no partition.
    PartitionSearch(const PreparedSchedule& prepared, std::uint64_t bytes,
                    const PartitionLimits& limits);

    /// There is scratch for as many replicas as blocks allow, with slots of a usual size.
    bool has_room() const;
    /// No partition is faster.
    double least_seconds() const;
    /// Given up, not simulated, when the first partition takes longer than `most_seconds`. What is
    /// found does not depend on that.
    PartitionResult run(double most_seconds) const;
    /// The best partition around it, between those that run() looks at.
    PartitionResult polish(PartitionResult best) const;
    /// As fast within a little, with fewer replicas: blocks are what others compute with.
    PartitionResult with_fewer_replicas(PartitionResult best) const;

private:
    bool is_fixed() const { return limits_.slot_bytes != 0; }
    std::uint64_t most_slot(std::uint32_t replicas) const;
    /// What holds a replica's whole share of the largest unit.
    std::uint64_t whole_slot(std::uint32_t replicas) const;
    PartitionResult evaluate(const Partition& partition, double most_seconds) const;
    /// Better slots in one direction, as long as they are better.
    void climb(PartitionResult& best, bool up) const;
    bool look_around(PartitionResult& best) const;
    /// Half the replicas with slots twice as large; false: that is no better.
    bool trade_replicas_for_slots(PartitionResult& best) const;

    const PreparedSchedule* prepared_;
    std::uint64_t bytes_;
    PartitionLimits limits_;
    std::uint32_t replicas_ = 1;
};

}  // namespace rondo
