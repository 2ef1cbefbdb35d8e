// Headers and entries of fatbins, and their decompression.
#include "vgpu/module/fatbin.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace vgpu {

namespace {

constexpr std::uint32_t fatbin_magic = 0xBA55ED50;
constexpr std::size_t largest_image = std::size_t{256} << 20;
constexpr std::uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;

struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t bytes_behind;
};
static_assert(sizeof(FatbinHeader) == 16);

struct EntryHeader {
    std::uint16_t kind;
    std::uint16_t version;
    std::uint32_t header_bytes;
    std::uint64_t payload_bytes;     ///< with padding
    std::uint32_t compressed_bytes;  ///< 0 when it is not compressed
    std::uint32_t options_offset;
    std::uint16_t minor, major;
    std::uint32_t architecture;
    std::uint32_t name_offset, name_bytes;
    std::uint64_t flags;
    std::uint64_t unknown;
    std::uint64_t unpacked_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

template <class Header>
Header header_at(std::span<const std::byte> bytes, std::size_t at, const char* what) {
    if (bytes.size() < at || bytes.size() - at < sizeof(Header)) {
        throw FatbinError(fmt::format("the fatbin ends within {} at byte {}; it has {} bytes", what,
                                      at, bytes.size()));
    }
    Header header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    return header;
}

FatbinHeader check(const FatbinHeader& header) {
    if (header.magic != fatbin_magic) throw FatbinError("the bytes are no fatbin");
    if (header.version != 1 || header.header_bytes < sizeof(FatbinHeader)) {
        throw FatbinError(fmt::format("the fatbin has version {} and a header of {} bytes",
                                      header.version, header.header_bytes));
    }
    return header;
}

ImageKind kind_of(const EntryHeader& entry) {
    constexpr unsigned ptx = 1, elf = 2;
    if (entry.kind == ptx) return ImageKind::ptx;
    return entry.kind == elf ? ImageKind::elf : ImageKind::other;
}

Compression compression_of(const EntryHeader& entry) {
    if ((entry.flags & zstd_flag) != 0) return Compression::zstd;
    return (entry.flags & lz4_flag) != 0 ? Compression::lz4 : Compression::none;
}

FatbinImage image_of(const EntryHeader& entry, std::span<const std::byte> payload) {
    FatbinImage image;
    image.kind = kind_of(entry);
    image.architecture = static_cast<int>(std::min<std::uint32_t>(entry.architecture, 0xFFFF));
    image.compression = compression_of(entry);
    image.payload = payload;
    image.unpacked_bytes = payload.size();
    if (image.compression == Compression::none) return image;
    if (entry.compressed_bytes > payload.size())
        throw FatbinError(
            fmt::format("{} compressed bytes in {}", entry.compressed_bytes, payload.size()));
    image.payload = payload.first(entry.compressed_bytes);
    image.unpacked_bytes = entry.unpacked_bytes;
    return image;
}

}  // namespace

bool looks_like_fatbin(std::span<const std::byte> bytes) {
    std::uint32_t magic = 0;
    if (bytes.size() < sizeof(magic)) return false;
    std::memcpy(&magic, bytes.data(), sizeof(magic));
    return magic == fatbin_magic;
}

std::span<const std::byte> fatbin_at(const void* data) {
    if (data == nullptr) throw FatbinError("there is no fatbin");
    const auto* const bytes = static_cast<const std::byte*>(data);
    const auto header = check(header_at<FatbinHeader>({bytes, sizeof(FatbinHeader)}, 0, "header"));
    return {bytes, header.header_bytes + header.bytes_behind};
}

std::vector<FatbinImage> read_fatbin(std::span<const std::byte> bytes) {
    const auto header = check(header_at<FatbinHeader>(bytes, 0, "its header"));
    if (bytes.size() - sizeof(FatbinHeader) < header.header_bytes - sizeof(FatbinHeader) ||
        bytes.size() - header.header_bytes < header.bytes_behind) {
        throw FatbinError(
            fmt::format("the fatbin says that it has {} bytes behind its header of "
                        "{}; there are {} in all",
                        header.bytes_behind, header.header_bytes, bytes.size()));
    }
    const auto whole = bytes.first(header.header_bytes + header.bytes_behind);
    std::vector<FatbinImage> images;
    for (std::size_t at = header.header_bytes; at < whole.size();) {
        const auto entry = header_at<EntryHeader>(whole, at, "an entry's header");
        const std::size_t left = whole.size() - at;
        if (entry.header_bytes < sizeof(EntryHeader) || entry.header_bytes > left ||
            entry.payload_bytes > left - entry.header_bytes) {
            throw FatbinError(fmt::format(
                "the entry at byte {} has {} bytes of header and {} behind; {} are left", at,
                entry.header_bytes, entry.payload_bytes, left));
        }
        images.push_back(
            image_of(entry, whole.subspan(at + entry.header_bytes, entry.payload_bytes)));
        at += entry.header_bytes + entry.payload_bytes;
    }
    return images;
}

std::string unpack(const FatbinImage& image) {
    const auto* const packed = reinterpret_cast<const char*>(image.payload.data());
    if (image.compression == Compression::none) return {packed, image.payload.size()};
    // Nothing that a compiler writes shrinks to less than a thousandth.
    if (image.unpacked_bytes > largest_image || image.payload.size() > largest_image ||
        image.unpacked_bytes / 1024 > image.payload.size() + 4) {
        throw FatbinError(fmt::format("an image of {} bytes unpacks to {}", image.payload.size(),
                                      image.unpacked_bytes));
    }
    std::string text(image.unpacked_bytes, '\0');
    std::size_t written = 0;
    if (image.compression == Compression::zstd) {
        written = ZSTD_decompress(text.data(), text.size(), packed, image.payload.size());
        if (ZSTD_isError(written) != 0)
            throw FatbinError(fmt::format("zstd: {}", ZSTD_getErrorName(written)));
    } else {
        const int count =
            LZ4_decompress_safe(packed, text.data(), static_cast<int>(image.payload.size()),
                                static_cast<int>(text.size()));
        if (count < 0) throw FatbinError("the LZ4 bytes of an image are broken");
        written = static_cast<std::size_t>(count);
    }
    text.resize(written);
    return text;
}

}  // namespace vgpu
