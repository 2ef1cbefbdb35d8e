// The host bodies of all kernels, for vgpu.
#include "kernels/entries.hpp"

namespace rondo::kernels {

template FoldRow<const void*> program_kernel_row<ElementType::i8>();
template FoldRow<const void*> program_kernel_row<ElementType::u8>();
template FoldRow<const void*> program_kernel_row<ElementType::i32>();
template FoldRow<const void*> program_kernel_row<ElementType::u32>();
template FoldRow<const void*> program_kernel_row<ElementType::i64>();
template FoldRow<const void*> program_kernel_row<ElementType::u64>();
template FoldRow<const void*> program_kernel_row<ElementType::f16>();
template FoldRow<const void*> program_kernel_row<ElementType::bf16>();
template FoldRow<const void*> program_kernel_row<ElementType::f32>();
template FoldRow<const void*> program_kernel_row<ElementType::f64>();
template FoldRow<const void*> program_kernel_row<ElementType::f8e4m3>();
template FoldRow<const void*> program_kernel_row<ElementType::f8e5m2>();

}  // namespace rondo::kernels
