// The one error of the topology library: bad input, with the offending element named.
#pragma once

#include <stdexcept>

namespace rondo {

class TopologyError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace rondo
