// Sets up, runs and judges one case: see span_case.hpp.
#include "tests/kernels/span_case.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "kernels/kernels.hpp"
#include "tests/kernels/reference.hpp"

namespace rondo::test {
namespace {

constexpr std::size_t boundary = 64;
/// Bytes on both sides of a destination that must not change.
constexpr std::size_t guard = 80;
constexpr std::byte guard_value{0xa5};

std::string describe(const SpanCase& c) {
    return fmt::format(
        "{} {} of {} sources into {}, {} elements from {}, misaligned by {}, in place {}",
        to_string(c.type), to_string(c.op), c.sources, c.destinations, c.count, c.first,
        fmt::join(c.misalignment, ","), c.in_place);
}

class CaseMemory {
public:
    CaseMemory(Executor& executor, const SpanCase& c, Random& random)
        : case_(c), bytes_((c.first + c.count) * size_of(c.type)) {
        for (std::uint32_t s = 0; s < c.sources; ++s) {
            sources.push_back(span(executor, s, 0));
            fill_random(c.type, sources.back(), c.first + c.count, random);
            factors.push_back(kernels::argument_bits(
                c.type, static_cast<double>(random() % 7) + (is_float(c.type) ? 0.25 : 0)));
        }
        for (std::uint32_t d = 0; d < c.destinations; ++d) {
            const bool shared = d == 0 && c.in_place >= 0;
            destinations.push_back(shared ? sources.at(c.in_place)
                                          : span(executor, c.sources + d, guard));
        }
        step = {.sources = reinterpret_cast<const void* const*>(sources.data()),
                .destinations = reinterpret_cast<void* const*>(destinations.data()),
                .source_count = c.sources,
                .destination_count = c.destinations,
                .first = c.first,
                .count = c.count,
                .factors = factors.data(),
                .divisor = c.op == ReduceOp::mean ? c.sources : 0};
    }

    std::vector<std::byte*> sources;
    std::vector<std::byte*> destinations;
    std::vector<std::uint64_t> factors;
    kernels::ReduceStep step;

private:
    /// The span ends exactly where its allocation ends, unless it has a guard.
    std::byte* span(Executor& executor, std::size_t index, std::size_t guard_bytes) {
        const std::size_t off = index < case_.misalignment.size() ? case_.misalignment[index] : 0;
        const std::size_t total = boundary + guard_bytes + off + bytes_ + guard_bytes;
        std::byte* const memory = executor.allocate(total);
        std::fill_n(memory, total, guard_value);
        const auto address = reinterpret_cast<std::uintptr_t>(memory + guard_bytes + boundary);
        return memory + guard_bytes + (boundary - address % boundary) % boundary + off;
    }

    const SpanCase& case_;
    std::size_t bytes_;
};

/// Untouched but for elements [first, first + count), which hold `expected`.
void judge_destination(const SpanCase& c, const std::byte* span,
                       const std::vector<std::byte>& expected, std::size_t guard_bytes) {
    const std::size_t size = size_of(c.type);
    for (std::uint64_t i = 0; i < c.count; ++i) {
        const std::byte* const seen = span + (c.first + i) * size;
        ASSERT_TRUE(same_element(c.type, seen, expected.data() + i * size))
            << "element " << i << " is " << show_element(c.type, seen) << " instead of "
            << show_element(c.type, expected.data() + i * size);
    }
    const std::byte* const begin = span + c.first * size;
    const std::byte* const end = begin + c.count * size;
    ASSERT_TRUE(std::all_of(end, end + guard_bytes, [](std::byte b) { return b == guard_value; }))
        << "written behind the end";
    if (guard_bytes != 0) {
        ASSERT_TRUE(std::all_of(span - guard_bytes, begin, [](std::byte b) {
            return b == guard_value;
        })) << "written before the begin";
    }
}

double special_value(Random& random) {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::array values{
        0.0, -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
        1.0, -1.0, 448.0,    1e-8,      -65504.0};
    return values[random() % values.size()];
}

}  // namespace

void fill_random(ElementType type, std::byte* to, std::uint64_t count, Random& random) {
    const std::size_t size = size_of(type);
    const std::uint64_t fresh =
        std::min<std::uint64_t>(count, 4099);  // large spans repeat themselves
    for (std::uint64_t i = 0; i < fresh; ++i) {
        const std::uint64_t bits = random() | static_cast<std::uint64_t>(random()) << 32;
        const unsigned kind = random() % 8;
        if (is_float(type) && kind < 5) {
            const double ordinary = (static_cast<double>(bits % 4001) - 2000) / 64;
            std::memcpy(to + i * size,
                        element_from(type, kind == 0 ? special_value(random) : ordinary).data(),
                        size);
        } else {
            std::memcpy(to + i * size, &bits, size);
        }
    }
    for (std::uint64_t i = fresh; i < count; i += fresh) {
        std::memcpy(to + i * size, to, std::min(fresh, count - i) * size);
    }
}

void run_case(Executor& executor, const SpanCase& c, Random& random) {
    SCOPED_TRACE(describe(c));
    CaseMemory memory(executor, c, random);
    std::vector<std::vector<std::byte>> sources_before;
    for (const std::byte* source : memory.sources) {
        sources_before.emplace_back(source, source + (c.first + c.count) * size_of(c.type));
    }
    const bool copies = executor.copies_single_sources() && c.sources == 1 &&
                        memory.step.divisor == 0 && c.op != ReduceOp::premul_sum;
    const std::vector<std::byte> expected =
        copies ? std::vector<std::byte>(sources_before[0].begin() +
                                            static_cast<std::ptrdiff_t>(c.first * size_of(c.type)),
                                        sources_before[0].end())
               : expected_result(c.type, c.op, memory.step);
    executor.reduce(c.type, c.op, memory.step);
    for (std::uint32_t d = 0; d < c.destinations; ++d) {
        const bool shared = d == 0 && c.in_place >= 0;
        ASSERT_NO_FATAL_FAILURE(
            judge_destination(c, memory.destinations[d], expected, shared ? 0 : guard))
            << "destination " << d;
    }
    for (std::uint32_t s = 0; s < c.sources; ++s) {
        if (static_cast<int>(s) != c.in_place) {
            ASSERT_TRUE(
                std::equal(sources_before[s].begin(), sources_before[s].end(), memory.sources[s]))
                << "source " << s << " changed";
        }
    }
    executor.release();
}

}  // namespace rondo::test
