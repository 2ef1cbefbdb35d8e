// Checks and applies the options of a call.
#include "communicator/call_options.hpp"

#include <numeric>

#include <fmt/format.h>

namespace rondo::detail {

void check_options(const CallOptions& options, std::size_t ranks, ReduceOp op) {
    const auto check_size = [ranks](std::size_t size, const char* what) {
        if (size != 0 && size != ranks) {
            throw InvalidArgument(fmt::format("{} {} were given for {} ranks", size, what, ranks));
        }
    };
    check_size(options.streams.size(), "streams");
    check_size(options.factors.size(), "factors");
    if (!options.factors.empty() && op != ReduceOp::premul_sum) {
        throw InvalidArgument(
            fmt::format("factors are for premul_sum, the operator is {}", to_string(op)));
    }
}

RankBuffers buffers_of(const CallOptions& options, std::size_t index, const void* input,
                       void* output) {
    return {.input = input,
            .output = output,
            .stream = options.streams.empty() ? cudaStreamLegacy : options.streams[index],
            .factor = options.factors.empty() ? 1 : options.factors[index]};
}

void apply(Call& call, const CallOptions& options, const Core& core) {
    call.strategy = options.strategy.value_or(core.options().strategy);
    call.schedule = options.schedule;
    if (!call.counts.empty()) {
        if (call.counts.size() != core.machine().ranks()) {
            throw InvalidArgument(fmt::format("{} counts were given for {} ranks",
                                              call.counts.size(), core.machine().ranks()));
        }
        call.count = std::accumulate(call.counts.begin(), call.counts.end(), std::uint64_t{0});
    }
}

}  // namespace rondo::detail
