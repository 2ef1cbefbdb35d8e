// Fatbins: what is in them comes out, whatever their compression; broken ones are refused.
#include "vgpu/module/fatbin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

namespace vgpu {
namespace {

std::string compress(Compression compression, const std::string& text) {
    if (compression == Compression::none) return text;
    std::string packed(text.size() + 1000, '\0');
    const auto bytes =
        compression == Compression::zstd
            ? ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3)
            : static_cast<std::size_t>(LZ4_compress_default(text.data(), packed.data(),
                                                            static_cast<int>(text.size()),
                                                            static_cast<int>(packed.size())));
    packed.resize(bytes);
    return packed;
}

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// As nvcc 13 writes them.
std::string entry(unsigned kind, unsigned architecture, const std::string& text,
                  Compression compression) {
    std::string payload = compress(compression, text);
    const bool packed = compression != Compression::none;
    const auto packed_bytes = static_cast<std::uint32_t>(packed ? payload.size() : 0);
    payload.resize((payload.size() + 7) / 8 * 8);
    std::string bytes;
    append<std::uint16_t>(bytes, static_cast<std::uint16_t>(kind));
    append<std::uint16_t>(bytes, 0x101);
    append<std::uint32_t>(bytes, 64);
    append<std::uint64_t>(bytes, payload.size());
    append<std::uint32_t>(bytes, packed_bytes);
    append<std::uint32_t>(bytes, 0);
    append<std::uint32_t>(bytes, 9 << 16);
    append<std::uint32_t>(bytes, architecture);
    append<std::uint64_t>(bytes, 0);
    append<std::uint64_t>(bytes, compression == Compression::zstd  ? 0x8011
                                 : compression == Compression::lz4 ? 0x2011
                                                                   : 0x11);
    append<std::uint64_t>(bytes, 0);
    append<std::uint64_t>(bytes, packed ? text.size() : 0);
    return bytes + payload;
}

std::string fatbin(const std::string& entries) {
    std::string bytes;
    append<std::uint32_t>(bytes, 0xBA55ED50);
    append<std::uint16_t>(bytes, 1);
    append<std::uint16_t>(bytes, 16);
    append<std::uint64_t>(bytes, entries.size());
    return bytes + entries;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

const std::string ptx(4000, 'p');

TEST(Fatbin, ImagesOfEveryCompressionComeOut) {
    for (const Compression each : {Compression::none, Compression::lz4, Compression::zstd}) {
        const std::string whole = fatbin(entry(2, 90, "ELF code", Compression::none) +
                                         entry(1, 75, ptx, each) + entry(8, 80, "?", each));
        const auto images = read_fatbin(bytes_of(whole));
        ASSERT_EQ(images.size(), 3u);
        EXPECT_EQ(images[0].kind, ImageKind::elf);
        EXPECT_EQ(images[0].architecture, 90);
        EXPECT_EQ(unpack(images[0]), "ELF code");
        EXPECT_EQ(images[1].kind, ImageKind::ptx);
        EXPECT_EQ(images[1].architecture, 75);
        EXPECT_EQ(unpack(images[1]), ptx);
        EXPECT_EQ(images[2].kind, ImageKind::other);
    }
}

TEST(Fatbin, WhatIsNoFatbinIsRefused) {
    EXPECT_FALSE(looks_like_fatbin(bytes_of("abc")));
    EXPECT_FALSE(looks_like_fatbin(bytes_of(".version 7.0")));
    EXPECT_THROW(read_fatbin(bytes_of("")), FatbinError);
    EXPECT_THROW(read_fatbin(bytes_of("this is some other text")), FatbinError);
    EXPECT_THROW(fatbin_at(nullptr), FatbinError);
}

TEST(Fatbin, EveryTruncationIsRefused) {
    const std::string whole = fatbin(entry(1, 75, ptx, Compression::zstd));
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
        EXPECT_THROW(read_fatbin(bytes_of(whole.substr(0, bytes))), FatbinError) << bytes;
}

TEST(Fatbin, AnEntryThatEndsBehindTheFatbinIsNamed) {
    std::string whole = fatbin(entry(1, 75, ptx, Compression::none));
    const std::uint64_t too_many = ptx.size() + 1;
    std::memcpy(whole.data() + 16 + 8, &too_many, sizeof(too_many));
    try {
        read_fatbin(bytes_of(whole));
        FAIL();
    } catch (const FatbinError& error) {
        EXPECT_THAT(
            error.what(),
            testing::HasSubstr("the entry at byte 16 has 64 bytes of header and 4001 behind"));
    }
}

TEST(Fatbin, BrokenAndExaggeratedCompressionIsRefused) {
    for (const Compression each : {Compression::lz4, Compression::zstd}) {
        std::string whole = fatbin(entry(1, 75, ptx, each));
        FatbinImage image = read_fatbin(bytes_of(whole)).at(0);
        image.unpacked_bytes = std::size_t{1} << 40;
        EXPECT_THROW(unpack(image), FatbinError);
        image.unpacked_bytes = ptx.size() / 2;
        EXPECT_THROW(unpack(image), FatbinError);
        std::string broken(image.payload.size(), '\xff');
        image.unpacked_bytes = ptx.size();
        image.payload = bytes_of(broken);
        EXPECT_THROW(unpack(image), FatbinError);
    }
}

}  // namespace
}  // namespace vgpu
