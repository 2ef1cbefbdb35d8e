// Runs a schedule on numbers, one small action of a random lane at a time, without any proof: the
// judge over what verify() says.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/schedule.hpp"

namespace rondo::test {

struct InterpreterOptions {
    std::uint64_t seed = 0;
    std::uint32_t chunks = 3;
    bool in_place = false;
};

/// Two calls in a row, with new inputs as soon as a rank has left the first. Returns what went
/// wrong: a wrong output or lanes that wait for ever; empty when all was well. Needs a valid
/// schedule.
std::string interpret(const Schedule& schedule, const InterpreterOptions& options);

}  // namespace rondo::test
