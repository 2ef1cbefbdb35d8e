// What went wrong in a collective, in words, from what the kernels left behind.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "communicator/connections.hpp"

namespace rondo {

/// What a flag of a plan is, in words, and the rank that should have raised it.
struct MissingFlag {
    std::string text;
    std::uint32_t rank = 0;
};

/// Who can put numbers of reports into words. Neither may block.
struct ReportWords {
    std::function<MissingFlag(std::uint32_t number)> flag;  ///< a program's
    std::function<std::string(std::uint32_t rank, std::uint32_t number)> call;
};

/// Throws MismatchError, TimeoutError or AbortedError when a kernel has reported a failure. The
/// same reports give the same text, whichever rank asks. `pairs` are those that were ever used.
void throw_reported_failure(const Machine& machine, const Connections& connections,
                            const std::vector<RankPair>& pairs, const ReportWords& words);

/// A CudaError becomes one that also tells which other devices of the machine don't answer: the
/// kernel of a healthy device fails when it writes to a lost one. Other errors stay as they are.
std::exception_ptr with_device_states(const Machine& machine, std::exception_ptr cause);

}  // namespace rondo
