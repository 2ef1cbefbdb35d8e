// What the communicator says of a case before it runs: strategy, predicted time, reason.
#pragma once

#include <string>
#include <vector>

#include "bench/tool/buffers.hpp"
#include "bench/tool/result.hpp"
#include "rondo/communicator.hpp"

namespace rondo::bench {

struct ExplainedCase {
    std::string strategy;
    double us = 0;  ///< simulated; 0: it was not
    std::string reason = {};
};

/// Never throws: what the library can't explain has the strategy's own name and no time.
ExplainedCase explain_case(const Communicator& communicator, const Case& test,
                           const Strategy& strategy);

/// All strategies that can do the case, with the one that would be chosen marked.
std::vector<Prediction> predict_strategies(const Communicator& communicator, const Case& test);

}  // namespace rondo::bench
