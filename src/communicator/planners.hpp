// Who plans for a communicator: communicators of the same devices share a planner, and what was
// found out about the machine.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "communicator/machine.hpp"
#include "rondo/communicator.hpp"
#include "strategy/planner.hpp"
#include "topology/detect/detect.hpp"

namespace rondo::detail {

/// What the machine is, looked at once per process; null when it could not be looked at. With
/// `self_test` every two devices that should reach each other have tried it.
std::shared_ptr<const Detection> detected_machine(bool self_test);

/// Pairs of devices (from, to) whose link is broken.
std::vector<std::pair<int, int>> broken_pairs(const Detection* detection);

/// Blocks of a program's kernel that are resident on the device at once.
unsigned resident_blocks(DeviceId device);

/// Where nothing was detected, it plans for what CUDA tells: who reaches whom.
std::shared_ptr<const Planner> planner_for(const Machine& machine,
                                           const std::shared_ptr<const Detection>& detection,
                                           std::uint64_t scratch_bytes);

}  // namespace rondo::detail
