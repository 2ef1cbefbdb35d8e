// Device code of the kernels for 8-bit integers.
#include "kernels/entries.hpp"

namespace rondo::kernels {

template FoldRow<const void*> program_kernel_row<ElementType::i8>();
template FoldRow<const void*> program_kernel_row<ElementType::u8>();

}  // namespace rondo::kernels
