// What lanes may leave out, and who may: everything that the kernel does not do although the
// schedule says it. verify() proves that nothing is lost by it.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/schedule.hpp"
#include "schedule/brief.hpp"

namespace rondo {

/// The lane waits for its rank's buffers to be left alone, that is: nobody is told when its waits
/// are over.
bool only_waits(const Lane& lane);

struct Shortcuts {
    BriefCall brief = {};
    /// Of each lane: whether it runs its steps at some chunks only, always at the last. A wait says
    /// that those before it are over too.
    std::vector<bool> strides = {};
    /// Calls that are not brief begin by bringing up the flags that brief ones left behind.
    bool catches_up = true;
};

Shortcuts shortcuts_of(const Schedule& schedule);

}  // namespace rondo
