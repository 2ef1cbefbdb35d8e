// Mailboxes lie in the memory of their owner, or on the host where the sender can't reach it.
#include "communicator/connections.hpp"

#include <vector>

#include "cuda/copy.hpp"

namespace rondo {

Connections::Connections(const Machine& machine, const SharedFailure& failure)
    : machine_(machine),
      host_mailboxes_(machine.device(0),
                      machine.all_reach_all() ? 0 : std::size_t{machine.ranks()} * machine.ranks()),
      reports_(machine.device(0), machine.ranks()),
      signatures_(machine.device(0), std::size_t{machine.ranks()} * machine.ranks()) {
    const std::uint32_t ranks = machine.ranks();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const DeviceId device = machine.device(rank);
        ranks_.push_back(
            {.mailboxes = {device, ranks}, .tables = {device, 2 * ranks}, .state = {device, 1}});
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const DeviceId device = machine.device(rank);
        const auto mailbox = [&](std::uint32_t owner, std::uint32_t sender) {
            return machine.reaches(sender, owner)
                       ? ranks_[owner].mailboxes.data() + sender
                       : host_mailboxes_.device_span(device).data() + owner * ranks + sender;
        };
        std::vector<kernels::Mailbox*> tables;
        for (std::uint32_t peer = 0; peer < ranks; ++peer) tables.push_back(mailbox(peer, rank));
        for (std::uint32_t peer = 0; peer < ranks; ++peer) tables.push_back(mailbox(rank, peer));
        reports_[rank].signatures = signatures_.device_span(device).data() + rank * ranks;
        const Stream stream(device);
        fill_bytes(stream, ranks_[rank].mailboxes.span(), std::byte{0});
        fill_bytes(stream, ranks_[rank].state.span(), std::byte{0});
        copy(stream, ranks_[rank].tables.span(), std::span<kernels::Mailbox* const>(tables));
        stream.synchronize();
        arguments_.push_back({.rank_state = ranks_[rank].state.data(),
                              .outgoing = ranks_[rank].tables.data(),
                              .incoming = ranks_[rank].tables.data() + ranks,
                              .report = reports_.device_span(device).data() + rank,
                              .abort = failure.abort_word(device),
                              .rank = rank,
                              .ranks = ranks,
                              .device = device.value()});
    }
}

kernels::CallStatus Connections::status(std::uint32_t rank) const {
    return static_cast<kernels::CallStatus>(kernels::load_acquire(&reports_[rank].status));
}

std::vector<kernels::Signature> Connections::signatures(std::uint32_t rank) const {
    const auto begin = signatures_.data() + std::size_t{rank} * machine_.ranks();
    return {begin, begin + machine_.ranks()};
}

}  // namespace rondo
