// The steps that kernels are made of, written over an execution context.
#pragma once

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

}  // namespace rondo::kernels
