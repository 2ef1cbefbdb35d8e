// Problems and strategies that every suite over schedules runs through.
#pragma once

#include <string>
#include <vector>

#include "strategy/build.hpp"

namespace rondo::test {

inline const std::vector<Collective> all_collectives{
    Collective::all_reduce, Collective::reduce, Collective::broadcast, Collective::reduce_scatter,
    Collective::all_gather};

inline std::vector<Strategy> all_strategies(std::uint32_t ranks) {
    return {Strategy::centralized(),
            Strategy::tree(1),
            Strategy::tree(2),
            Strategy::tree(5),
            Strategy::ring(),
            Strategy::hierarchical_copy(1),
            Strategy::hierarchical_copy(3),
            Strategy::hierarchical_copy(2 * ranks),
            Strategy::reduction_to_one_device(0),
            Strategy::direct(1),
            Strategy::direct(2),
            Strategy::forest()};
}

/// direct(1) is for two collectives only.
inline bool applies(const Strategy& strategy, Collective collective) {
    return strategy != Strategy::direct(1) || collective == Collective::all_reduce ||
           collective == Collective::reduce_scatter;
}

}  // namespace rondo::test
