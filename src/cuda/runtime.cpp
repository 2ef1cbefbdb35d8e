#include "cuda/runtime.hpp"

#include <string>

#include "rondo/error.hpp"

// Only where vgpu is linked.
namespace vgpu {
__attribute__((weak)) std::string other_runtime();
}

namespace rondo {

void require_own_runtime() {
    if (&vgpu::other_runtime == nullptr) {
        return;
    }
    if (const std::string problem = vgpu::other_runtime(); !problem.empty()) {
        throw Error(problem);
    }
}

}  // namespace rondo
