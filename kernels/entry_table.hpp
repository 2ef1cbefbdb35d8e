// The addresses of all kernels. Each variant of the target (host bodies, device code) defines these
// functions.
#pragma once

#include "kernels/folds.hpp"

namespace rondo::kernels {

/// The reduce kernels of one element type, in the order of `folds`.
template <ElementType type>
FoldRow<const void*> reduce_kernel_row();

/// The kernels that run programs, likewise.
template <ElementType type>
FoldRow<const void*> program_kernel_row();

const void* copy_kernel_entry();
const void* barrier_kernel_entry();

}  // namespace rondo::kernels
