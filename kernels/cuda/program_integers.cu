// Device code of the kernels for 32- and 64-bit integers.
#include "kernels/entries.hpp"

namespace rondo::kernels {

template FoldRow<const void*> program_kernel_row<ElementType::i32>();
template FoldRow<const void*> program_kernel_row<ElementType::u32>();
template FoldRow<const void*> program_kernel_row<ElementType::i64>();
template FoldRow<const void*> program_kernel_row<ElementType::u64>();

}  // namespace rondo::kernels
