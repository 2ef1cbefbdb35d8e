// What connects the ranks of a communicator: mailboxes, the state of each rank and the reports of
// its kernels; and the same for every two of them, for what one sends the other.
#pragma once

#include <cstdint>
#include <vector>

#include "communicator/arena.hpp"
#include "communicator/failure_state.hpp"
#include "communicator/machine.hpp"
#include "kernels/program.hpp"

namespace rondo {

/// A sender and a receiver. Their kernels know them as ranks 0 and 1.
struct RankPair {
    std::uint32_t from = 0;
    std::uint32_t to = 0;

    bool operator==(const RankPair&) const = default;
};

class Connections {
public:
    /// Takes its memory from the arena.
    Connections(const Machine& machine, Arena& arena, const FailureState& failure);

    /// What every call of that rank has in common.
    const kernels::CallArguments& arguments(std::uint32_t rank) const { return arguments_[rank]; }
    /// What every transfer of the pair has in common, at its sender or receiver.
    kernels::CallArguments arguments(const RankPair& pair, bool at_sender) const;

    /// As the host sees it, also while kernels run.
    kernels::CallStatus status(std::uint32_t rank) const { return status_of(reports_[rank]); }
    kernels::CallStatus status(const RankPair& pair, bool at_sender) const {
        return status_of(reports_[report_index(pair, at_sender)]);
    }
    std::uint32_t sequence(std::uint32_t rank) const { return reports_[rank].sequence; }
    /// The number of what each rank called, after a mismatch that `rank` reported.
    std::uint32_t called(std::uint32_t rank, std::uint32_t by) const {
        return calls_[rank * ranks() + by];
    }
    std::uint32_t called(const RankPair& pair, bool at_sender, bool by_sender) const {
        return calls_[calls_index(pair, at_sender) + (by_sender ? 0 : 1)];
    }
    /// Of the rank's blocks, those that run collectives and those that send and receive.
    std::span<const kernels::FailureRecord> records(std::uint32_t rank) const {
        return records_.span().subspan(2 * kernels::max_blocks * rank, 2 * kernels::max_blocks);
    }

private:
    struct PairEnd;
    struct Offsets;

    std::uint32_t ranks() const { return machine_.ranks(); }
    static kernels::CallStatus status_of(const kernels::RankReport& report) {
        return static_cast<kernels::CallStatus>(kernels::load_acquire(&report.status));
    }
    /// Behind the reports of the ranks: those of senders and receivers.
    std::size_t report_index(const RankPair& pair, bool at_sender) const {
        return ranks() + 2 * (std::size_t{pair.from} * ranks() + pair.to) + (at_sender ? 0 : 1);
    }
    std::size_t calls_index(const RankPair& pair, bool at_sender) const {
        return std::size_t{ranks()} * ranks() + 2 * (report_index(pair, at_sender) - ranks());
    }
    std::size_t end_offset(std::uint32_t peer, bool sends) const;
    kernels::Mailbox* mailbox(std::uint32_t owner, std::uint32_t sender,
                              std::uint32_t viewer) const;
    kernels::Mailbox* pair_mailbox(const RankPair& pair, bool owned_by_sender, bool from_sender,
                                   std::uint32_t viewer) const;
    std::vector<std::byte> first_image(std::uint32_t rank) const;

    const Machine& machine_;
    Arena& arena_;
    Arena::Range table_;
    std::vector<kernels::CallArguments> arguments_;  ///< per rank
    PinnedBuffer<kernels::RankReport> reports_;
    PinnedBuffer<kernels::FailureRecord> records_;  ///< [rank][collectives, pairs][block]
    PinnedBuffer<std::uint32_t> calls_;
};

}  // namespace rondo
