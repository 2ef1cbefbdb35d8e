#include "cuda/runtime.hpp"

#include <link.h>

#include <string>
#include <string_view>

#include "rondo/error.hpp"

// Only where vgpu is linked.
namespace vgpu {
__attribute__((weak)) std::string other_runtime();
}

namespace rondo {
namespace {

/// Which of the two libraries this process has loaded.
struct LoadedLibraries {
    bool for_gpus = false;
    bool for_virtual_gpus = false;
};

int note_library(dl_phdr_info* library, std::size_t, void* loaded) {
    std::string_view name = library->dlpi_name;
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
    auto& found = *static_cast<LoadedLibraries*>(loaded);
    found.for_gpus |= name.starts_with("librondo.so");
    found.for_virtual_gpus |= name.starts_with("librondo_vgpu.so");
    return 0;
}

}  // namespace

void require_own_runtime() {
    LoadedLibraries loaded;
    dl_iterate_phdr(&note_library, &loaded);
    if (loaded.for_gpus && loaded.for_virtual_gpus) {
        throw Error(
            "librondo.so and librondo_vgpu.so are both loaded: one would launch kernels that the "
            "other's runtime does not know; link only one of them");
    }
    if (&vgpu::other_runtime == nullptr) {
        return;
    }
    if (const std::string problem = vgpu::other_runtime(); !problem.empty()) {
        throw Error(problem);
    }
}

}  // namespace rondo
