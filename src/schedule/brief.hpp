// What a brief call can do without. A call of one chunk that comes behind a call (of the same plan)
// of one chunk or none needs fewer flags, because its entry says the same: everybody has entered,
// so has left the call before.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/schedule.hpp"

namespace rondo {

struct BriefCall {
    /// Of each lane: so many of its first steps run before the rank enters, since they only push
    /// the rank's own input into slots that are free even then: everybody entered the call before,
    /// so has left the one before that, and the channels have room for two calls. Only the first
    /// lane of a rank has any; it does the rank's entry, which says that they have arrived.
    std::vector<std::uint32_t> early_steps;
    /// Of each channel: early steps push into it, so its data needs no flag.
    std::vector<bool> early;
    /// Of each channel: a call needs no slot twice, so its slots need no credit.
    std::vector<bool> roomy;
};

BriefCall brief_call(const Schedule& schedule);

}  // namespace rondo
