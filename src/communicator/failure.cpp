// Reads the reports: a mismatch tells all, else the first rank whose wait timed out is the cause.
#include "communicator/failure.hpp"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/device_guard.hpp"
#include "kernels/program_numbers.hpp"
#include "rondo/cuda_error.hpp"
#include "rondo/schedule.hpp"
#include "rondo/types.hpp"

namespace rondo {
namespace {

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

/// "send of 1024 x f32" for the ends of a pair.
std::string describe_call(const kernels::Signature& signature, const RankNames& names,
                          std::uint32_t rank) {
    if (!names.is_pair()) {
        return describe(signature);
    }
    return fmt::format("{} of {} x {}", rank == 0 ? "send" : "receive", signature.count,
                       to_string(static_cast<ElementType>(signature.type())));
}

[[noreturn]] void throw_mismatch(const Connections& connections, const RankNames& names,
                                 std::uint32_t rank) {
    std::map<std::string, std::vector<std::uint32_t>> calls;
    const std::vector<kernels::Signature> signatures = connections.signatures(rank);
    bool plans_only = true;
    for (std::uint32_t r = 0; r < signatures.size(); ++r) {
        calls[describe_call(signatures[r], names, r)].push_back(names.of(r));
        plans_only = plans_only && describe(signatures[r]) == describe(signatures[0]);
    }
    if (plans_only) {
        for (std::uint32_t r = 0; r < signatures.size(); ++r) {
            calls[fmt::format("plan {:x}", signatures[r].plan)].push_back(names.of(r));
        }
    }
    std::string text = fmt::format("the ranks called different things as call {}: ",
                                   connections.report(rank).sequence);
    std::string separator;
    for (const auto& [call, ranks] : calls) {
        text += fmt::format("{}{}: {}", separator, ranks_text(ranks), call);
        separator = "; ";
    }
    throw MismatchError(text + ". Nothing was written.");
}

MissingFlag missing_flag(const kernels::FailureRecord& record, const RankNames& names,
                         std::uint32_t rank, const FlagDescriber& describe_flag) {
    if (record.flag_number == kernels::go_flag_number) {
        return {"its own lane 0 to enter", rank};
    }
    if (record.flag_number < kernels::first_program_flag) {
        const char* const call = !names.is_pair()          ? "enter the call"
                                 : record.flag_number == 0 ? "send"
                                                           : "receive";
        return {fmt::format("rank {} to {}", names.of(record.flag_number), call),
                record.flag_number};
    }
    return describe_flag(record.flag_number);
}

/// The first failed wait of a rank, or null. With `timed_out`: only one that reached its deadline.
const kernels::FailureRecord* failed_wait(const Connections& connections, std::uint32_t rank,
                                          bool timed_out) {
    for (const kernels::FailureRecord& record : connections.report(rank).records) {
        const auto reason =
            static_cast<kernels::WaitFailure>(kernels::load_acquire(&record.reason));
        if (reason == kernels::WaitFailure::timed_out ||
            (!timed_out && reason == kernels::WaitFailure::aborted)) {
            return &record;
        }
    }
    return nullptr;
}

/// Begins with the rank whose deadline passed and goes on with whom it waited for, as far as that
/// one waited too: the last one named is the one that stopped.
void throw_timeout(const Machine& machine, const RankNames& names, const Connections& connections,
                   std::uint32_t rank, const FlagDescriber& describe_flag) {
    const kernels::FailureRecord* record = failed_wait(connections, rank, true);
    if (record == nullptr) {
        return;
    }
    std::string text = fmt::format("rank {} (device {}), lane {} waited {:.3f} s in vain for ",
                                   names.of(rank), machine.device(rank).value(), record->block,
                                   static_cast<double>(record->waited_ns) * 1e-9);
    const std::string details = kernels::describe(*record);
    std::vector<bool> seen(machine.ranks());
    while (record != nullptr && !seen[rank]) {
        seen[rank] = true;
        const MissingFlag missing = missing_flag(*record, names, rank, describe_flag);
        text += missing.text;
        rank = missing.rank;
        record = failed_wait(connections, rank, false);
        if (record != nullptr && !seen[rank]) {
            text += ", which waited for ";
        }
    }
    throw TimeoutError(fmt::format("{} ({})", text, details));
}

}  // namespace

std::string describe(const kernels::Signature& signature) {
    const auto collective = static_cast<Collective>(signature.collective());
    std::string text = fmt::format("{} of {} x {}", to_string(collective), signature.count,
                                   to_string(static_cast<ElementType>(signature.type())));
    if (reduces(collective)) {
        text += fmt::format(", {}", to_string(static_cast<ReduceOp>(signature.op())));
    }
    if (collective == Collective::broadcast || collective == Collective::reduce) {
        text += fmt::format(", root {}", signature.root);
    }
    return text;
}

void throw_reported_failure(const Machine& machine, const RankNames& names,
                            const Connections& connections, const FlagDescriber& describe_flag) {
    bool failed = false;
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const kernels::CallStatus status = connections.status(rank);
        if (status == kernels::CallStatus::mismatch) {
            throw_mismatch(connections, names, rank);
        }
        failed = failed || status != kernels::CallStatus::good;
    }
    for (std::uint32_t rank = 0; rank < machine.ranks() && failed; ++rank) {
        throw_timeout(machine, names, connections, rank, describe_flag);
    }
    if (failed) {
        throw AbortedError("the collective was aborted");
    }
}

std::exception_ptr with_device_states(const Machine& machine, const RankNames& names,
                                      std::exception_ptr cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const CudaError& error) {
        std::string text = error.what();
        for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
            try {
                const DeviceGuard guard(machine.device(rank));
            } catch (const CudaError& state) {
                if (state.code() != error.code()) {
                    text += fmt::format("; rank {}: {}", names.of(rank), state.what());
                }
            }
        }
        return std::make_exception_ptr(CudaError(error.code(), text));
    } catch (...) {
        return cause;
    }
}

}  // namespace rondo
