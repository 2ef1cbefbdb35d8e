// Device code of the kernels for 16-bit floats.
#include "kernels/entries.hpp"

namespace rondo::kernels {

template FoldRow<const void*> program_kernel_row<ElementType::f16>();
template FoldRow<const void*> program_kernel_row<ElementType::bf16>();

}  // namespace rondo::kernels
