// Reads the reports: a mismatch tells all, else the first rank whose wait timed out is the cause.
#include "communicator/failure.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/device_guard.hpp"
#include "kernels/program_numbers.hpp"
#include "rondo/cuda_error.hpp"
#include "rondo/error.hpp"

namespace rondo {
namespace {

using kernels::CallStatus;
using kernels::FailureRecord;
using kernels::WaitFailure;

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

class Reports {
public:
    Reports(const Machine& machine, const Connections& connections,
            const std::vector<RankPair>& pairs, const ReportWords& words)
        : machine_(machine), connections_(connections), pairs_(pairs), words_(words) {}

    void throw_failure() const {
        bool failed = false;
        for (std::uint32_t rank = 0; rank < machine_.ranks(); ++rank) {
            const CallStatus status = connections_.status(rank);
            if (status == CallStatus::mismatch) throw_mismatch(rank);
            failed = failed || status != CallStatus::good;
        }
        for (const RankPair& pair : pairs_) {
            for (const bool sender : {true, false}) {
                const CallStatus status = connections_.status(pair, sender);
                if (status == CallStatus::mismatch) throw_mismatch(pair, sender);
                failed = failed || status != CallStatus::good;
            }
        }
        for (std::uint32_t rank = 0; rank < machine_.ranks() && failed; ++rank) {
            throw_timeout(rank);
        }
        if (failed) throw AbortedError("the collective was aborted");
    }

private:
    [[noreturn]] void throw_mismatch(std::uint32_t rank) const {
        std::map<std::string, std::vector<std::uint32_t>> calls;
        for (std::uint32_t r = 0; r < machine_.ranks(); ++r) {
            calls[words_.call(r, connections_.called(rank, r))].push_back(r);
        }
        std::string text = fmt::format("the ranks called different things as call {}: ",
                                       connections_.sequence(rank));
        std::string separator;
        for (const auto& [call, ranks] : calls) {
            text += fmt::format("{}{}: {}", separator, ranks_text(ranks), call);
            separator = "; ";
        }
        if (calls.size() == 1) text += ", with parts or tensors of different lengths";
        throw MismatchError(text + ". Nothing was written.");
    }

    [[noreturn]] void throw_mismatch(const RankPair& pair, bool at_sender) const {
        const auto called = [&](bool by_sender) {
            return words_.call(by_sender ? pair.from : pair.to,
                               connections_.called(pair, at_sender, by_sender));
        };
        throw MismatchError(fmt::format(
            "rank {} sends what rank {} does not receive: rank {}: {}; rank {}: {}. Nothing was "
            "written.",
            pair.from, pair.to, pair.from, called(true), pair.to, called(false)));
    }

    /// Whom and what the block waited for.
    MissingFlag missing_flag(const FailureRecord& record, std::uint32_t rank) const {
        const std::uint32_t number = record.flag_number;
        if (number == kernels::go_flag_number) {
            return {fmt::format("rank {} itself to enter the call", rank), rank};
        }
        if (number < kernels::first_pair_flag) {
            return {fmt::format("rank {} to enter the call", number), number};
        }
        if (number < kernels::first_program_flag) {
            const std::uint32_t pair = (number - kernels::first_pair_flag) / 2;
            const RankPair ranks{pair / kernels::max_ranks, pair % kernels::max_ranks};
            if (number % 2 == kernels::first_pair_flag % 2) {
                return {fmt::format("rank {} to send to rank {}", ranks.from, ranks.to),
                        ranks.from};
            }
            return {fmt::format("rank {} to receive from rank {}", ranks.to, ranks.from), ranks.to};
        }
        return words_.flag(number);
    }

    /// The failed waits of a rank. With `timed_out`: only those that reached their deadline.
    std::vector<const FailureRecord*> failed_waits(std::uint32_t rank, bool timed_out) const {
        std::vector<const FailureRecord*> found;
        for (const FailureRecord& record : connections_.records(rank)) {
            const auto reason = static_cast<WaitFailure>(kernels::load_acquire(&record.reason));
            if (reason == WaitFailure::timed_out ||
                (!timed_out && reason == WaitFailure::aborted)) {
                found.push_back(&record);
            }
        }
        return found;
    }

    /// A wait, and the one that led to it.
    struct Hop {
        const FailureRecord* record;
        MissingFlag missing;
        std::optional<std::size_t> previous;
    };

    /// Waits in the order of their distance from those of a rank whose deadline passed. The last is
    /// for a rank that waited for nobody, if there is one.
    std::vector<Hop> follow_waits(std::uint32_t rank) const {
        std::vector<Hop> hops;
        for (const FailureRecord* const record : failed_waits(rank, true)) {
            hops.push_back({record, missing_flag(*record, rank), {}});
        }
        std::vector<bool> seen(machine_.ranks());
        for (std::size_t i = 0; i < hops.size(); ++i) {
            const std::uint32_t next = hops[i].missing.rank;
            const auto records = failed_waits(next, false);
            if (records.empty()) {
                hops.push_back(hops[i]);
                return hops;
            }
            if (seen[next]) continue;
            seen[next] = true;
            for (const FailureRecord* const record : records) {
                hops.push_back({record, missing_flag(*record, next), i});
            }
        }
        return hops;
    }

    /// From the rank whose deadline passed over those that waited too to the one that stopped.
    void throw_timeout(std::uint32_t rank) const {
        const std::vector<Hop> hops = follow_waits(rank);
        if (hops.empty()) return;
        std::string chain;
        const Hop* hop = &hops.back();
        while (true) {
            chain = hop->missing.text + (chain.empty() ? "" : ", which waited for ") + chain;
            if (!hop->previous) break;
            hop = &hops[*hop->previous];
        }
        throw TimeoutError(fmt::format(
            "rank {} (device {}), block {} timed out after {:.3f} s waiting for {} ({})", rank,
            machine_.device(rank).value(), hop->record->block,
            static_cast<double>(hop->record->waited_ns) * 1e-9, chain,
            kernels::describe(*hop->record)));
    }

    const Machine& machine_;
    const Connections& connections_;
    const std::vector<RankPair>& pairs_;
    const ReportWords& words_;
};

}  // namespace

void throw_reported_failure(const Machine& machine, const Connections& connections,
                            const std::vector<RankPair>& pairs, const ReportWords& words) {
    Reports(machine, connections, pairs, words).throw_failure();
}

std::exception_ptr with_device_states(const Machine& machine, std::exception_ptr cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const CudaError& error) {
        std::string text = error.what();
        for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
            try {
                const DeviceGuard guard(machine.device(rank));
            } catch (const CudaError& state) {
                if (state.code() != error.code()) {
                    text += fmt::format("; rank {}: {}", rank, state.what());
                }
            }
        }
        return std::make_exception_ptr(CudaError(error.code(), text));
    } catch (...) {
        return cause;
    }
}

}  // namespace rondo
