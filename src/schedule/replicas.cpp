#include "schedule/replicas.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace rondo {
namespace {

struct Owned {
    ByteRange range;
    std::uint32_t replica = 0;
    const char* what = "";
};

void append(std::vector<Owned>& list, const std::vector<ByteRange>& ranges, std::uint32_t replica,
            const char* what) {
    for (const ByteRange& range : ranges) {
        if (range.begin < range.end) list.push_back({range, replica, what});
    }
}

std::string find_overlap(std::vector<Owned> list) {
    std::ranges::sort(list, {}, [](const Owned& it) { return it.range.begin; });
    for (std::size_t i = 1; i < list.size(); ++i) {
        const Owned& first = list[i - 1];
        Owned& second = list[i];
        if (second.range.begin < first.range.end) {
            if (first.replica != second.replica) {
                return fmt::format(
                    "replicas {} and {} share {} at {}", std::min(first.replica, second.replica),
                    std::max(first.replica, second.replica), second.what, second.range.begin);
            }
            // What the longer one still covers belongs to it.
            second.range.end = std::max(second.range.end, first.range.end);
        }
    }
    return {};
}

}  // namespace

ByteRange replica_share(std::uint64_t count, std::uint32_t replicas, std::uint32_t replica,
                        std::uint64_t grain) {
    const std::uint64_t grains = (count + grain - 1) / grain;
    const std::uint64_t each = grains / replicas;
    const std::uint64_t more = grains % replicas;
    const auto begin_of = [&](std::uint64_t number) {
        return std::min(count, (each * number + std::min(number, more)) * grain);
    };
    return {begin_of(replica), begin_of(std::uint64_t{replica} + 1)};
}

std::uint64_t ReplicaChunks::shift() const {
    if (count <= chunk) return 0;
    return chunk / grain * replica / replicas * grain;
}

ByteRange ReplicaChunks::range(std::uint64_t number) const {
    const std::uint64_t end = (number + 1) * chunk - shift();
    const std::uint64_t begin = number == 0 ? 0 : end - chunk;
    return {std::min(begin, count), std::min(end, count)};
}

std::uint64_t ReplicaChunks::chunks() const {
    return count == 0 ? 0 : (count + shift() + chunk - 1) / chunk;
}

std::string find_shared(const std::vector<ReplicaUse>& replicas) {
    std::vector<Owned> memory;
    std::vector<Owned> elements;
    for (std::uint32_t replica = 0; replica < replicas.size(); ++replica) {
        append(memory, replicas[replica].flags, replica, "a flag");
        append(memory, replicas[replica].slots, replica, "a slot");
        append(elements, replicas[replica].elements, replica, "an element");
    }
    const std::string shared = find_overlap(std::move(memory));
    return !shared.empty() ? shared : find_overlap(std::move(elements));
}

}  // namespace rondo
