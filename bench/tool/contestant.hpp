// What can be timed: the library, a limit, a peer. They take turns.
#pragma once

#include <string>

#include "bench/tool/buffers.hpp"

namespace rondo::bench {

class Contestant {
public:
    Contestant() = default;
    Contestant(const Contestant&) = delete;
    Contestant& operator=(const Contestant&) = delete;
    virtual ~Contestant() = default;

    virtual std::string name() const = 0;
    /// Gets ready for a case. Throws rondo::Error when it can't do it.
    virtual void begin(const Case& test) = 0;
    /// Does the case `warm_up` times and then `iterations` times; returns seconds for one of the
    /// latter. Throws rondo::Error.
    virtual double run(int warm_up, int iterations) = 0;
};

}  // namespace rondo::bench
