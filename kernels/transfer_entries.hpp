// The kernels without element types: copy and barrier. Included by exactly one file of each variant
// of the target.
#pragma once

#include "kernels/bodies.hpp"
#include "kernels/entry_table.hpp"
#include "kernels/kernel_block.hpp"
#include "kernels/kernel_names.hpp"
#include "kernels/publish.hpp"

namespace rondo::kernels {

RONDO_KERNEL copy_kernel(CopyArguments arguments) {
    RONDO_SHARED SharedSpans shared;
    KernelBlock block;
    copy_body(block, arguments, shared);
}

RONDO_KERNEL barrier_kernel(BarrierArguments arguments) {
    KernelBlock block;
    barrier_body(block, arguments);
}

const void* copy_kernel_entry() {
    return publish<CopyArguments, &copy_kernel>(copy_kernel_name);
}

const void* barrier_kernel_entry() {
    return publish<BarrierArguments, &barrier_kernel>(barrier_kernel_name);
}

}  // namespace rondo::kernels
