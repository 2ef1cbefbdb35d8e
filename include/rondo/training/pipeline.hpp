// Who computes which micro-batch when: the timetable of a pipeline, as a value that can be printed
// and measured.
//
//     PipelineTimetable table = make_timetable(PipelineKind::gpipe, {0, 1, 2, 3}, 8);
//     std::cout << to_string(table);       // one line per worker: F0 F1 F2 ... B0 B1
//     table.bubble();                      // 0.375 = (4 - 1) / 8
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/export.hpp"
#include "rondo/training/strategy.hpp"

namespace rondo::training {

/// One micro-batch through one segment, forward or backward. A segment is a run of neighbouring
/// nodes on one worker.
struct PipelineTask {
    std::uint32_t worker = 0;
    std::uint32_t segment = 0;
    std::uint32_t micro_batch = 0;
    bool backward = false;
    std::uint32_t begin = 0;  ///< slot of time; every task takes one
};

struct PipelineTimetable {
    std::uint32_t workers = 0;
    std::uint32_t micro_batches = 0;
    std::vector<PipelineTask> tasks = {};  ///< in an order in which they could run one by one

    /// Slots until the last task has ended.
    RONDO_API std::uint32_t length() const;
    /// Idle time of the busiest worker in relation to its work. (S - 1) / M for S equal stages.
    RONDO_API double bubble() const;
    /// Micro-batches of a segment whose activations are needed at once.
    RONDO_API std::uint32_t most_in_flight(std::uint32_t segment) const;
};

/// `worker_of_segment` tells where each segment is, in the order of the forward pass. With gpipe
/// every worker does all forwards first; with 1F1B stage i of S has at most S - i micro-batches in
/// flight and prefers backwards. Throws InvalidArgument for no segments or micro-batches.
RONDO_API PipelineTimetable make_timetable(PipelineKind kind,
                                           const std::vector<std::uint32_t>& worker_of_segment,
                                           std::uint32_t micro_batches);

/// One line per worker, one column per slot.
RONDO_API std::string to_string(const PipelineTimetable& table);

}  // namespace rondo::training
