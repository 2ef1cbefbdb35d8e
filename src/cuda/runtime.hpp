// Which CUDA runtime the calls of this process reach.
#pragma once

namespace rondo {

/// Throws Error when the process has both of Rondo's libraries; or when Rondo was built for virtual
/// GPUs, but another library takes its CUDA calls, because that was linked too and comes first:
/// kernels would be unknown to it.
void require_own_runtime();

}  // namespace rondo
