// What connects the ranks of a communicator: mailboxes, the state of each rank and the reports of
// its kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/machine.hpp"
#include "communicator/shared_failure.hpp"
#include "cuda/buffer.hpp"
#include "kernels/program.hpp"

namespace rondo {

class Connections {
public:
    Connections(const Machine& machine, const SharedFailure& failure);

    /// What every call of that rank has in common.
    const kernels::ProgramArguments& arguments(std::uint32_t rank) const {
        return arguments_[rank];
    }

    /// As the host sees it, also while kernels run.
    kernels::CallStatus status(std::uint32_t rank) const;
    const kernels::RankReport& report(std::uint32_t rank) const { return reports_[rank]; }
    /// What all ranks called, after a mismatch that `rank` reported.
    std::vector<kernels::Signature> signatures(std::uint32_t rank) const;

private:
    struct RankMemory {
        DeviceBuffer<kernels::Mailbox> mailboxes;
        DeviceBuffer<kernels::Mailbox*> tables;  ///< outgoing, then incoming
        DeviceBuffer<kernels::RankState> state;
    };

    const Machine& machine_;
    std::vector<kernels::ProgramArguments> arguments_;  ///< per rank
    std::vector<RankMemory> ranks_;
    PinnedBuffer<kernels::Mailbox>
        host_mailboxes_;  ///< [owner][sender], where the sender can't reach
    PinnedBuffer<kernels::RankReport> reports_;
    PinnedBuffer<kernels::Signature> signatures_;  ///< [rank][of rank]
};

}  // namespace rondo
