// A number that stands for many bytes: for checksums of files, and to tell one data set from
// another.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace rondo::training {

/// FNV-1a over 64-bit words, then over the bytes that are left: catches what disks and copies do,
/// not what an attacker does.
class Digest {
public:
    void add(std::string_view bytes) {
        std::size_t at = 0;
        for (; at + 8 <= bytes.size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + at, 8);
            mix(word);
        }
        for (; at < bytes.size(); ++at) mix(static_cast<unsigned char>(bytes[at]));
    }
    template <class Values>
    void add_values(const Values& values) {
        add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
    }
    std::uint64_t value() const { return hash_; }

private:
    void mix(std::uint64_t word) {
        hash_ = (hash_ ^ word) * 0x100000001b3u;
        hash_ ^= hash_ >> 29;
    }

    std::uint64_t hash_ = 0xcbf29ce484222325u;
};

inline std::uint64_t digest_of(std::string_view bytes) {
    Digest digest;
    digest.add(bytes);
    return digest.value();
}

}  // namespace rondo::training
