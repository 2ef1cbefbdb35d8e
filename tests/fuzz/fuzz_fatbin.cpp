// Any bytes are a fatbin or refused; whatever is in them unpacks or is refused.
#include <cstddef>
#include <cstdint>

#include "vgpu/module/fatbin.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        for (const vgpu::FatbinImage& each :
             vgpu::read_fatbin({reinterpret_cast<const std::byte*>(data), size})) {
            try {
                vgpu::unpack(each);
            } catch (const vgpu::FatbinError&) {
            }
        }
    } catch (const vgpu::FatbinError&) {
    }
    return 0;
}
