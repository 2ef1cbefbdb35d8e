// Runs one kernel on real threads, right or with a seeded bug, under ThreadSanitizer. races_test
// starts it as a child and reads its report. Usage: race_program
// correct|missing_sync|early_signal|relaxed_flag
#include <cstdio>
#include <numeric>
#include <string_view>
#include <vector>

#include "kernels/steps.hpp"
#include "kernels/thread_block.hpp"

namespace {

using namespace rondo;
using namespace rondo::kernels;

constexpr std::uint32_t count = 3000;
constexpr ThreadGrid grid{.blocks = 2, .threads = 8};

/// sync() does nothing.
struct WithoutSync : ThreadBlock {
    using ThreadBlock::ThreadBlock;
    void sync() const {}
};

/// The flag is stored before the other threads of the block are done.
struct WithEarlySignal : ThreadBlock {
    using ThreadBlock::ThreadBlock;
    void signal(std::uint32_t* flag, std::uint32_t value) const {
        if (thread_rank() == 0) {
            store_release(flag, value);
        }
    }
};

/// The flag carries nothing but itself.
struct WithRelaxedFlag : ThreadBlock {
    using ThreadBlock::ThreadBlock;
    void signal(std::uint32_t* flag, std::uint32_t value) const {
        sync();
        if (thread_rank() == 0) {
            FlagRef(*flag).store(value, cuda::std::memory_order_relaxed);
        }
    }
};

/// What the threads of a block share.
struct SharedSpans {
    const void* sources[2];
    void* destinations[1];
};

struct Exchange {
    std::vector<float> input = std::vector<float>(count);
    std::vector<float> middle = std::vector<float>(count);
    std::vector<float> output = std::vector<float>(count);
    std::uint32_t flag = 0;
    SharedSpans shared[grid.blocks];
    FailureRecord records[grid.blocks];
};

SharedSpans spans_of(Exchange& exchange, std::uint32_t block) {
    const void* const source = block == 0 ? exchange.input.data() : exchange.middle.data();
    return {{source, source}, {block == 0 ? exchange.middle.data() : exchange.output.data()}};
}

template <class Block>
void share_spans(Block& block, Exchange& exchange, SharedSpans& shared) {
    const SharedSpans spans = spans_of(exchange, block.index());
    for (std::uint32_t i = block.thread_rank(); i < 2; i += block.size()) {
        shared.sources[i] = spans.sources[i];
        if (i == 1) shared.destinations[0] = spans.destinations[0];
    }
    block.sync();
}

/// Block 0 doubles the input into the middle and signals; block 1 waits and doubles the middle into
/// the output.
template <class Block>
void exchange_body(Block& block, Exchange& exchange) {
    const bool first = block.index() == 0;
    SharedSpans& shared = exchange.shared[block.index()];
    share_spans(block, exchange, shared);
    const ReduceStep step{.sources = shared.sources,
                          .destinations = shared.destinations,
                          .source_count = 2,
                          .destination_count = 1,
                          .count = count};
    if (first) {
        reduce_step<ElementType::f32, ReduceOp::sum>(block, step);
        block.signal(&exchange.flag, 1);
    } else if (block.wait({.flag = &exchange.flag, .wanted = 1},
                          {.timeout_ns = 60'000'000'000, .records = exchange.records})) {
        reduce_step<ElementType::f32, ReduceOp::sum>(block, step);
    }
}

template <class Block>
int run() {
    Exchange exchange;
    std::iota(exchange.input.begin(), exchange.input.end(), 0.0f);
    // The right pointers already: a thread that reads them too early is reported, but does not
    // crash.
    for (std::uint32_t block = 0; block < grid.blocks; ++block) {
        exchange.shared[block] = spans_of(exchange, block);
    }
    run_threads<Block>(grid, [&](Block& block) { exchange_body(block, exchange); });
    for (std::uint32_t i = 0; i < count; ++i) {
        if (exchange.output[i] != 4.0f * static_cast<float>(i)) {
            std::fprintf(stderr, "output[%u] is %f\n", i, static_cast<double>(exchange.output[i]));
            return 3;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view variant = argc == 2 ? argv[1] : "";
    if (variant == "correct") return run<ThreadBlock>();
    if (variant == "missing_sync") return run<WithoutSync>();
    if (variant == "early_signal") return run<WithEarlySignal>();
    if (variant == "relaxed_flag") return run<WithRelaxedFlag>();
    std::fprintf(stderr, "usage: %s correct|missing_sync|early_signal|relaxed_flag\n", argv[0]);
    return 2;
}
