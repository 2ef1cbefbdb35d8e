// Device code of the kernels for float and double.
#include "kernels/entries.hpp"

namespace rondo::kernels {

template FoldRow<const void*> program_kernel_row<ElementType::f32>();
template FoldRow<const void*> program_kernel_row<ElementType::f64>();

}  // namespace rondo::kernels
