// The addresses of all kernels. Each variant of the target (host bodies, device code) defines these
// functions.
#pragma once

#include "kernels/folds.hpp"

namespace rondo::kernels {

/// The kernels that run programs on one element type, in the order of `folds`.
template <ElementType type>
FoldRow<const void*> program_kernel_row();

}  // namespace rondo::kernels
