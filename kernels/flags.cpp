// Puts the record of a failed wait into words.
#include "kernels/flags.hpp"

#include <fmt/format.h>

namespace rondo::kernels {

std::string describe(const FailureRecord& record) {
    const auto reason = static_cast<WaitFailure>(load_acquire(&record.reason));
    if (reason == WaitFailure::none) {
        return {};
    }
    const char* const ending =
        reason == WaitFailure::aborted ? "the call was aborted" : "the deadline passed";
    return fmt::format(
        "device {}, block {} waited {:.3f} ms for flag {} (at {:#x}) to reach {}: it was "
        "{} when {}",
        record.device, record.block, static_cast<double>(record.waited_ns) / 1e6,
        record.flag_number, record.flag_address, record.wanted, record.seen, ending);
}

}  // namespace rondo::kernels
