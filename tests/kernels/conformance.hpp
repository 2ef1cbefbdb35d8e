// The link between the conformance suite and the short file of each program that says which
// executors it tests.
#pragma once

#include <vector>

#include "tests/kernels/executor.hpp"

namespace rondo::test {

/// Defined by each program that links the suite.
std::vector<ExecutorChoice> conformance_executors();

}  // namespace rondo::test
