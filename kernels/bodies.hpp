// The kernels' bodies, written over an execution context, and the steps that larger kernels are
// made of.
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/elements.hpp"
#include "kernels/platform.hpp"
#include "kernels/reduce_step.hpp"

namespace rondo::kernels {

/// All threads of the block take part. The spans and pointer tables must not change before the
/// block's next sync().
template <ElementType type, ReduceOp op, class Block>
RONDO_DEVICE void reduce_step(Block& block, const ReduceStep& step) {
    if (step.count != 0) {
        block.begin_step(step, element_bytes<type>);
        block.template reduce<type, op>(step);
    }
}

/// One source, any number of destinations; `count` and `first` are bytes.
template <class Block>
RONDO_DEVICE void copy_step(Block& block, const ReduceStep& step) {
    if (step.count != 0) {
        block.begin_step(step, 1);
        block.copy(step);
    }
}

struct Range {
    std::uint64_t begin;
    std::uint64_t end;
};

/// The part of `count` that block `index` of `blocks` takes: whole grains by floor and remainder,
/// so that blocks meet at aligned places; the last grain may be short.
RONDO_DEVICE Range part_of(std::uint64_t count, std::uint32_t index, std::uint32_t blocks,
                           std::uint64_t grain) {
    const std::uint64_t grains = (count + grain - 1) / grain;
    const std::uint64_t share = grains / blocks;
    const std::uint64_t extra = grains % blocks;
    const std::uint64_t begin = index * share + (index < extra ? index : extra);
    const std::uint64_t end = begin + share + (index < extra ? 1 : 0);
    return {begin * grain < count ? begin * grain : count,
            end * grain < count ? end * grain : count};
}

/// Elements that no two blocks share a piece of: 1024 fill whole cache lines in every type.
inline constexpr std::uint64_t part_grain = 1024;

/// What a block of these kernels shares: the pointers of the launch, where all threads find them
/// without a stack frame.
struct SharedSpans {
    const void* sources[max_inline_spans];
    void* destinations[max_inline_spans];
    std::uint64_t factors[max_inline_spans];
};

template <class Block>
RONDO_DEVICE void share_spans(Block& block, const ReduceArguments& arguments, SharedSpans& shared) {
    for (std::uint32_t i = block.thread_rank(); i < max_inline_spans; i += block.size()) {
        shared.sources[i] = arguments.sources[i];
        shared.destinations[i] = arguments.destinations[i];
        shared.factors[i] = arguments.factors[i];
    }
    block.sync();
}

/// Spans in the arguments are one segment that holds everything.
template <ElementType type, ReduceOp op, class Block>
RONDO_DEVICE void reduce_body(Block& block, const ReduceArguments& arguments, SharedSpans& shared) {
    share_spans(block, arguments, shared);
    ReduceStep step{
        .sources = shared.sources,
        .destinations = shared.destinations,
        .source_count = arguments.source_count,
        .destination_count = arguments.destination_count,
        .factors = arguments.factor_table != nullptr ? arguments.factor_table : shared.factors,
        .divisor = arguments.divisor};
    const SegmentTable table = arguments.segments;
    const std::uint64_t count = arguments.count;
    const Range part = part_of(count, block.index(), block.count(), part_grain);
    std::uint64_t begin = 0;
    RONDO_NO_UNROLL
    for (std::uint32_t segment = 0; begin < part.end; ++segment) {
        const std::uint64_t end = table.count != 0 ? table.ends[segment] : count;
        if (end > part.begin) {
            if (table.count != 0) {
                step.sources = table.sources + std::size_t{segment} * step.source_count;
                step.destinations =
                    table.destinations + std::size_t{segment} * step.destination_count;
            }
            step.first = part.begin > begin ? part.begin - begin : 0;
            step.count = (end < part.end ? end : part.end) - begin - step.first;
            reduce_step<type, op>(block, step);
        }
        begin = end;
    }
}

template <class Block>
RONDO_DEVICE void copy_body(Block& block, const CopyArguments& arguments, SharedSpans& shared) {
    for (std::uint32_t i = block.thread_rank(); i < max_inline_spans; i += block.size()) {
        shared.sources[i] = arguments.source;
        shared.destinations[i] = arguments.destinations[i];
    }
    block.sync();
    const Range part = part_of(arguments.bytes, block.index(), block.count(), part_grain);
    copy_step(block, ReduceStep{.sources = shared.sources,
                                .destinations = shared.destinations,
                                .source_count = 1,
                                .destination_count = arguments.destination_count,
                                .first = part.begin,
                                .count = part.end - part.begin});
}

template <class Block>
RONDO_DEVICE void barrier_body(Block& block, const BarrierArguments& arguments) {
    for (std::uint32_t round = 1; round <= arguments.rounds; ++round) {
        const std::uint32_t value = arguments.epoch + round;
        for (std::uint32_t peer = 0; peer < arguments.ranks; ++peer) {
            if (peer != arguments.rank) {
                block.signal(arguments.flags[peer] + arguments.rank, value);
            }
        }
        for (std::uint32_t peer = 0; peer < arguments.ranks; ++peer) {
            const FlagWait wait{
                .flag = arguments.flags[arguments.rank] + peer, .wanted = value, .number = peer};
            if (peer != arguments.rank && !block.wait(wait, arguments.limits)) {
                return;
            }
        }
    }
}

}  // namespace rondo::kernels
