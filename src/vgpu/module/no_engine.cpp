// Stands for the PTX engine where it is not built.
#include "vgpu/ptx/engine.hpp"

namespace vgpu::ptx {

std::shared_ptr<Module> Module::load(std::span<const std::string_view>, const Options&) {
    throw Error("this build has no PTX engine; the kernel needs a host body");
}

}  // namespace vgpu::ptx
