// The one error of the topology library: bad input, with the offending element named.
#pragma once

#include "rondo/error.hpp"

namespace rondo {

/// A file, a text or a value is no topology, or can't be written as one. Nothing was changed, so it
/// is recoverable().
class TopologyError : public InvalidArgument {
public:
    using InvalidArgument::InvalidArgument;
};

}  // namespace rondo
