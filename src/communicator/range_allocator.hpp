// Gives out ranges of a memory that lies elsewhere.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace rondo {

/// First fit, neighbours are joined when they come back. Offsets are multiples of `alignment`. Not
/// thread safe.
class RangeAllocator {
public:
    static constexpr std::size_t alignment = 256;

    explicit RangeAllocator(std::size_t bytes) : bytes_(bytes) {
        if (bytes != 0) free_[0] = bytes;
    }

    /// The range's offset; nothing when no free range is large enough. No bytes take no room.
    std::optional<std::size_t> take(std::size_t bytes) {
        bytes = rounded(bytes);
        if (bytes == 0) return 0;
        for (auto place = free_.begin(); place != free_.end(); ++place) {
            const auto [offset, size] = *place;
            if (size < bytes) continue;
            free_.erase(place);
            if (size > bytes) free_[offset + bytes] = size - bytes;
            used_ += bytes;
            return offset;
        }
        return std::nullopt;
    }

    /// What take(bytes) gave.
    void give_back(std::size_t offset, std::size_t bytes) {
        bytes = rounded(bytes);
        if (bytes == 0) return;
        used_ -= bytes;
        auto place = free_.emplace(offset, bytes).first;
        const auto next = std::next(place);
        if (next != free_.end() && offset + bytes == next->first) {
            place->second += next->second;
            free_.erase(next);
        }
        if (place == free_.begin()) return;
        const auto before = std::prev(place);
        if (before->first + before->second == offset) {
            before->second += place->second;
            free_.erase(place);
        }
    }

    std::size_t size() const { return bytes_; }
    std::size_t used() const { return used_; }

private:
    static std::size_t rounded(std::size_t bytes) {
        return (bytes + alignment - 1) / alignment * alignment;
    }

    std::size_t bytes_;
    std::size_t used_ = 0;
    std::map<std::size_t, std::size_t> free_;  ///< size by offset
};

}  // namespace rondo
