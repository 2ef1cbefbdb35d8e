// Device code of the kernels for 8-bit floats.
#include "kernels/entries.hpp"

namespace rondo::kernels {

template FoldRow<const void*> program_kernel_row<ElementType::f8e4m3>();
template FoldRow<const void*> program_kernel_row<ElementType::f8e5m2>();

}  // namespace rondo::kernels
