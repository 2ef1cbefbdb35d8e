// What went wrong in a collective, in words, from what the kernels left behind.
#pragma once

#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "communicator/connections.hpp"

namespace rondo {

/// How errors speak of the ranks. A pair that sends and receives has the numbers that its
/// communicator gives the two.
class RankNames {
public:
    explicit RankNames(std::uint32_t ranks) : numbers_(ranks) {
        std::iota(numbers_.begin(), numbers_.end(), 0u);
    }
    RankNames(std::uint32_t sender, std::uint32_t receiver)
        : numbers_{sender, receiver}, is_pair_(true) {}

    std::uint32_t of(std::uint32_t rank) const { return numbers_[rank]; }
    bool is_pair() const { return is_pair_; }

private:
    std::vector<std::uint32_t> numbers_;
    bool is_pair_ = false;
};

/// "all_reduce of 1024 x f32, sum"
std::string describe(const kernels::Signature& signature);

/// What a flag of a plan is, in words, and the rank that should have raised it.
struct MissingFlag {
    std::string text;
    std::uint32_t rank = 0;
};

/// Describes a flag of a plan by its number in reports.
using FlagDescriber = std::function<MissingFlag(std::uint32_t number)>;

/// Throws MismatchError, TimeoutError or AbortedError when a kernel has reported a failure.
/// The same reports give the same text, whichever rank asks.
void throw_reported_failure(const Machine& machine, const RankNames& names,
                            const Connections& connections, const FlagDescriber& describe_flag);

/// A CudaError becomes one that also tells which other devices of the machine don't answer: the
/// kernel of a healthy device fails when it writes to a lost one. Other errors stay as they are.
std::exception_ptr with_device_states(const Machine& machine, const RankNames& names,
                                      std::exception_ptr cause);

}  // namespace rondo
