// Reads fatbins: the containers in which nvcc puts device code for several architectures. The bytes
// may come from anywhere; what is wrong with them is said, never trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace vgpu {

/// The bytes are no fatbin, or a broken one.
struct FatbinError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class ImageKind { ptx, elf, other };
enum class Compression { none, lz4, zstd };

/// One image of a fatbin; a view of the fatbin's bytes.
struct FatbinImage {
    ImageKind kind = ImageKind::other;
    int architecture = 0;  ///< 75 is sm_75 or compute_75
    Compression compression = Compression::none;
    std::span<const std::byte> payload;
    std::size_t unpacked_bytes = 0;  ///< payload.size() when it is not compressed
};

/// Whether the bytes begin as a fatbin does.
bool looks_like_fatbin(std::span<const std::byte> bytes);
/// The whole fatbin that begins at `data`, by what its header says. Only for fatbins that were
/// linked into the program. Throws FatbinError when none begins there.
std::span<const std::byte> fatbin_at(const void* data);

/// The images in their order. Throws FatbinError, with the byte where something is wrong.
std::vector<FatbinImage> read_fatbin(std::span<const std::byte> bytes);
/// The image's bytes, decompressed. Throws FatbinError when they can't be, or would be more than
/// 256 MiB.
std::string unpack(const FatbinImage& image);

}  // namespace vgpu
