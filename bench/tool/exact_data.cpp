// Data whose reduction has one exact result, in any order and in every element type.
#include "bench/tool/exact_data.hpp"

#include <algorithm>
#include <cstring>

#include "bench/tool/cuda_check.hpp"
#include "bench/tool/with_type.hpp"

namespace rondo::bench {
namespace {

/// Every whole number from 0 to this one is exact in the type.
std::int64_t largest_exact(ElementType type) {
    switch (type) {
        case ElementType::i8:
            return 127;
        case ElementType::u8:
            return 255;
        case ElementType::f16:
            return 2048;
        case ElementType::bf16:
            return 256;
        case ElementType::f8e4m3:
            return 16;
        case ElementType::f8e5m2:
            return 8;
        case ElementType::f32:
            return 1 << 24;
        default:
            return 1 << 30;
    }
}

std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9u;
    return value ^ (value >> 32);
}

std::uint64_t hash_of(int rank, std::uint64_t index) {
    return mixed(index * 0x100000001b3u + static_cast<std::uint64_t>(rank) + 1);
}

/// Sums of all ranks' values stay below `most`. Where there are more ranks than that, as many as
/// fit say 1 and the others 0.
std::int64_t summand(int ranks, int rank, std::uint64_t index, std::int64_t most) {
    const std::int64_t each = most / ranks;
    if (each > 0) {
        return static_cast<std::int64_t>(
            hash_of(rank, index) %
            static_cast<std::uint64_t>(std::min<std::int64_t>(each, 255) + 1));
    }
    const auto place =
        (index + static_cast<std::uint64_t>(rank)) % static_cast<std::uint64_t>(ranks);
    return place < static_cast<std::uint64_t>(most) ? 1 : 0;
}

/// Values whose sum is a multiple of the number of ranks: neighbours differ from a common value in
/// opposite directions. 0 where not even ones would fit.
std::int64_t mean_of(const DataRule& rule, std::uint64_t index) {
    const std::int64_t each =
        std::min<std::int64_t>(largest_exact(rule.type) / rule.ranks / 2, 100);
    return each == 0 ? 0
                     : static_cast<std::int64_t>(hash_of(-1, index) %
                                                 static_cast<std::uint64_t>(each + 1));
}

std::int64_t mean_input(const DataRule& rule, int rank, std::uint64_t index) {
    const std::int64_t mean = mean_of(rule, index);
    if (rank / 2 * 2 + 1 >= rule.ranks) return mean;  // the last one has no neighbour
    const auto away =
        static_cast<std::int64_t>(hash_of(rank / 2, index) % static_cast<std::uint64_t>(mean + 1));
    return rank % 2 == 0 ? mean + away : mean - away;
}

/// So many ranks say 2 and the others 1.
std::uint64_t twos(const DataRule& rule, std::uint64_t index) {
    return hash_of(-2, index) % static_cast<std::uint64_t>(std::min(rule.ranks, 5) + 1);
}

template <class Value>
std::vector<std::byte> pattern_of(ElementType type, std::uint64_t needed, Value value) {
    const std::size_t elements = std::clamp<std::size_t>(needed, 1, pattern_elements);
    return with_type(type, [&]<class T>(std::type_identity<T>) {
        std::vector<std::byte> bytes(elements * sizeof(T));
        for (std::size_t i = 0; i < elements; ++i) {
            T element;
            if constexpr (std::is_arithmetic_v<T>) {
                element = static_cast<T>(value(i));
            } else {
                element = T(static_cast<float>(value(i)));
            }
            std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
        }
        return bytes;
    });
}

/// The pattern once more and once more, so that copies are long.
std::vector<std::byte> repeated(const std::vector<std::byte>& pattern, std::size_t bytes) {
    std::vector<std::byte> text;
    const std::size_t times = std::clamp<std::size_t>(bytes / pattern.size(), 1, 64);
    text.reserve(times * pattern.size());
    for (std::size_t i = 0; i < times; ++i) text.insert(text.end(), pattern.begin(), pattern.end());
    return text;
}

/// Calls body(offset in the memory, offset in the pattern, bytes) for each piece.
template <class Body>
void each_piece(std::size_t period, std::size_t element, PatternPart part, Body body) {
    const std::size_t bytes = part.count * element;
    std::size_t phase = part.first % (period / element) * element;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece = std::min(period - phase, bytes - done);
        body(done, phase, piece);
        done += piece;
        phase = 0;
    }
}

}  // namespace

double factor_of(int rank) {
    return rank % 2 == 0 ? 1 : 2;
}

std::int64_t input_value(const DataRule& rule, int rank, std::uint64_t index) {
    const std::int64_t most = largest_exact(rule.type);
    switch (rule.op) {
        case ReduceOp::sum:
            return summand(rule.ranks, rank, index, most);
        case ReduceOp::premul_sum:
            return summand(rule.ranks, rank, index, most / 2);
        case ReduceOp::mean:
            return mean_input(rule, rank, index);
        case ReduceOp::prod:
            return (index + static_cast<std::uint64_t>(rank)) %
                               static_cast<std::uint64_t>(rule.ranks) <
                           twos(rule, index)
                       ? 2
                       : 1;
        case ReduceOp::min:
        case ReduceOp::max:
            return static_cast<std::int64_t>(hash_of(rank, index) %
                                             static_cast<std::uint64_t>(most + 1));
    }
    return 0;
}

std::int64_t reduced_value(const DataRule& rule, std::uint64_t index) {
    if (rule.op == ReduceOp::mean) return mean_of(rule, index);
    if (rule.op == ReduceOp::prod) return std::int64_t{1} << twos(rule, index);
    std::int64_t result = rule.op == ReduceOp::premul_sum ? 0 : input_value(rule, 0, index);
    for (int rank = rule.op == ReduceOp::premul_sum ? 0 : 1; rank < rule.ranks; ++rank) {
        const std::int64_t value = input_value(rule, rank, index);
        switch (rule.op) {
            case ReduceOp::min:
                result = std::min(result, value);
                break;
            case ReduceOp::max:
                result = std::max(result, value);
                break;
            case ReduceOp::premul_sum:
                result += static_cast<std::int64_t>(factor_of(rank)) * value;
                break;
            default:
                result += value;
        }
    }
    return result;
}

std::vector<std::byte> input_pattern(const DataRule& rule, int rank, std::uint64_t needed) {
    return pattern_of(rule.type, needed, [&](std::size_t i) { return input_value(rule, rank, i); });
}

std::vector<std::byte> reduced_pattern(const DataRule& rule, std::uint64_t needed) {
    return pattern_of(rule.type, needed, [&](std::size_t i) { return reduced_value(rule, i); });
}

void write_pattern(const std::vector<std::byte>& pattern, std::size_t element, PatternPart part,
                   void* device_memory) {
    const std::vector<std::byte> text = repeated(pattern, part.count * element);
    each_piece(text.size(), element, part,
               [&](std::size_t to, std::size_t from, std::size_t bytes) {
                   check(cudaMemcpy(static_cast<std::byte*>(device_memory) + to, text.data() + from,
                                    bytes, cudaMemcpyDefault),
                         "writing test data");
               });
}

std::int64_t count_wrong(const std::vector<std::byte>& pattern, std::size_t element,
                         PatternPart part, const void* device_memory) {
    const std::vector<std::byte> text = repeated(pattern, part.count * element);
    std::vector<std::byte> found(text.size());
    std::int64_t wrong = 0;
    each_piece(text.size(), element, part,
               [&](std::size_t at, std::size_t from, std::size_t bytes) {
                   check(cudaMemcpy(found.data(), static_cast<const std::byte*>(device_memory) + at,
                                    bytes, cudaMemcpyDefault),
                         "reading a result");
                   if (std::memcmp(found.data(), text.data() + from, bytes) == 0) return;
                   for (std::size_t i = 0; i < bytes; i += element) {
                       if (std::memcmp(found.data() + i, text.data() + from + i, element) != 0)
                           ++wrong;
                   }
               });
    return wrong;
}

}  // namespace rondo::bench
