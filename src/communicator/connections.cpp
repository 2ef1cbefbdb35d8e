// Mailboxes lie in the memory of their owner, or on the host where the sender can't reach it.
#include "communicator/connections.hpp"

#include <cstring>

#include "cuda/check.hpp"
#include "cuda/device_guard.hpp"
#include "kernels/program_numbers.hpp"

namespace rondo {

using kernels::Mailbox;
using kernels::RankState;

/// What a rank has for what it sends a peer, or receives from it.
struct Connections::PairEnd {
    Mailbox mailboxes[2];  ///< of the sender and of the receiver
    Mailbox* outgoing[2];
    Mailbox* incoming[2];
    RankState state;
};

/// Where things lie in a rank's tables.
struct Connections::Offsets {
    std::size_t tables, state, ends, size;

    explicit Offsets(std::uint32_t ranks) {
        tables = ranks * sizeof(Mailbox);
        state = tables + 2 * ranks * sizeof(Mailbox*);
        ends = (state + sizeof(RankState) + 63) / 64 * 64;
        size = ends + 2 * ranks * sizeof(PairEnd);
    }
};

Connections::Connections(const Machine& machine, Arena& arena, const FailureState& failure)
    : machine_(machine),
      arena_(arena),
      reports_(machine.device(0), ranks() + 2 * std::size_t{ranks()} * ranks()),
      records_(machine.device(0), 2 * kernels::max_blocks * std::size_t{ranks()}),
      calls_(machine.device(0), 5 * std::size_t{ranks()} * ranks()) {
    const Offsets offsets(ranks());
    auto table = arena.take_table(offsets.size);
    if (!table) throw InvalidArgument("the tables of the communicator are too small");
    table_ = std::move(*table);
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        const DeviceId device = machine.device(rank);
        std::byte* const base = arena.table(rank, rank, table_.offset(), rank);
        const DeviceGuard guard(device);
        const std::vector<std::byte> image = first_image(rank);
        check(cudaMemcpy(base, image.data(), image.size(), cudaMemcpyHostToDevice),
              "cudaMemcpy of mailboxes");
        if (std::byte* const host = arena.host_table(rank, table_.offset())) {
            std::memset(host, 0, offsets.size);
        }
        auto** const tables = reinterpret_cast<Mailbox**>(base + offsets.tables);
        reports_[rank].calls = calls_.device_span(device).data() + rank * ranks();
        arguments_.push_back(
            {.rank_state = reinterpret_cast<RankState*>(base + offsets.state),
             .outgoing = tables,
             .incoming = tables + ranks(),
             .report = reports_.device_span(device).data() + rank,
             .records = records_.device_span(device).data() + 2 * kernels::max_blocks * rank,
             .abort = failure.abort_word(device),
             .rank = rank,
             .ranks = ranks(),
             .device = device.value()});
    }
    for (std::uint32_t from = 0; from < ranks(); ++from) {
        for (std::uint32_t to = 0; to < ranks(); ++to) {
            for (const bool sender : {true, false}) {
                const RankPair pair{from, to};
                reports_[report_index(pair, sender)].calls =
                    calls_.device_span(machine.device(sender ? from : to)).data() +
                    calls_index(pair, sender);
            }
        }
    }
}

Mailbox* Connections::mailbox(std::uint32_t owner, std::uint32_t sender,
                              std::uint32_t viewer) const {
    return reinterpret_cast<Mailbox*>(
        arena_.table(owner, sender, table_.offset() + sender * sizeof(Mailbox), viewer));
}

std::size_t Connections::end_offset(std::uint32_t peer, bool sends) const {
    return table_.offset() + Offsets(ranks()).ends + (2 * peer + (sends ? 0 : 1)) * sizeof(PairEnd);
}

Mailbox* Connections::pair_mailbox(const RankPair& pair, bool owned_by_sender, bool from_sender,
                                   std::uint32_t viewer) const {
    const std::uint32_t owner = owned_by_sender ? pair.from : pair.to;
    const std::uint32_t peer = owned_by_sender ? pair.to : pair.from;
    return reinterpret_cast<Mailbox*>(arena_.table(owner, from_sender ? pair.from : pair.to,
                                                   end_offset(peer, owned_by_sender) +
                                                       offsetof(PairEnd, mailboxes) +
                                                       (from_sender ? 0 : 1) * sizeof(Mailbox),
                                                   viewer));
}

std::vector<std::byte> Connections::first_image(std::uint32_t rank) const {
    const Offsets offsets(ranks());
    std::vector<std::byte> image(offsets.size);
    auto** const tables = reinterpret_cast<Mailbox**>(image.data() + offsets.tables);
    for (std::uint32_t peer = 0; peer < ranks(); ++peer) {
        tables[peer] = mailbox(peer, rank, rank);
        tables[ranks() + peer] = mailbox(rank, peer, rank);
        for (const bool sends : {true, false}) {
            const RankPair pair = sends ? RankPair{rank, peer} : RankPair{peer, rank};
            auto* const end = reinterpret_cast<PairEnd*>(
                image.data() + (end_offset(peer, sends) - table_.offset()));
            for (const int of : {0, 1}) {
                end->outgoing[of] = pair_mailbox(pair, of == 0, sends, rank);
                end->incoming[of] = pair_mailbox(pair, sends, of == 0, rank);
            }
        }
    }
    return image;
}

kernels::CallArguments Connections::arguments(const RankPair& pair, bool at_sender) const {
    const std::uint32_t self = at_sender ? pair.from : pair.to;
    const std::uint32_t peer = at_sender ? pair.to : pair.from;
    auto* const end =
        reinterpret_cast<PairEnd*>(arena_.table(self, self, end_offset(peer, at_sender), self));
    kernels::CallArguments result = arguments_[self];
    result.rank_state = &end->state;
    result.outgoing = end->outgoing;
    result.incoming = end->incoming;
    result.report += report_index(pair, at_sender) - self;
    result.records += kernels::max_blocks;
    result.rank = at_sender ? 0 : 1;
    result.ranks = 2;
    result.entry_number = kernels::first_pair_flag + 2 * (pair.from * kernels::max_ranks + pair.to);
    return result;
}

}  // namespace rondo
