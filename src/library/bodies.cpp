// librondo_bodies.so: the host bodies of Rondo's kernels under their mangled names, for programs in
// which nvcc compiled the kernels. vgpu-run loads it before the program.
#include "kernels/kernels.hpp"

namespace {

/// Asking for one kernel registers all.
[[maybe_unused]] const auto registered =
    rondo::kernels::find_program_kernel(rondo::ElementType::f32, rondo::ReduceOp::sum);

}  // namespace
