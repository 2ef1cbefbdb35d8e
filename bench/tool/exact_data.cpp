// Data whose reduction has one exact result, in any order and in every element type.
#include "bench/tool/exact_data.hpp"

#include <algorithm>
#include <cstring>

#include "bench/tool/cuda_check.hpp"
#include "bench/tool/exact_rule.hpp"
#include "bench/tool/with_type.hpp"

namespace rondo::bench {
namespace {

ExactRule exact(const DataRule& rule) {
    return {rule.type, rule.op, static_cast<std::uint32_t>(rule.ranks)};
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
    return ExactRule::factor(static_cast<std::uint32_t>(rank));
}

double input_value(const DataRule& rule, int rank, std::uint64_t index) {
    return exact(rule).value(static_cast<std::uint32_t>(rank), index);
}

double reduced_value(const DataRule& rule, std::uint64_t index) {
    return exact(rule).result(index);
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
