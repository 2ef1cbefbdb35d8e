// What every executor of device code must do. The same suite runs on the host loops of each
// instruction set, on real threads, on kernels launched on vgpu and on kernels launched on a GPU.
#include <algorithm>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "kernels/kernels.hpp"
#include "tests/kernels/conformance.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/kernels/span_case.hpp"

namespace rondo::test {
namespace {

class KernelConformance : public testing::TestWithParam<ExecutorChoice> {
protected:
    void SetUp() override {
        std::string why_not;
        executor_ = GetParam().make(why_not);
        if (executor_ == nullptr) {
            GTEST_SKIP() << why_not;
        }
    }

    /// The result of `op` over one element of each source.
    std::string fold_of(ElementType type, ReduceOp op, const std::vector<double>& values) {
        std::vector<const void*> sources;
        std::vector<std::vector<std::byte>> elements;
        for (const double value : values) {
            elements.push_back(element_from(type, value));
            std::byte* const span = executor_->allocate(size_of(type));
            std::memcpy(span, elements.back().data(), size_of(type));
            sources.push_back(span);
        }
        void* const destination = executor_->allocate(size_of(type));
        executor_->reduce(
            type, op,
            {.sources = sources.data(),
             .destinations = &destination,
             .source_count = static_cast<std::uint32_t>(sources.size()),
             .destination_count = 1,
             .count = 1,
             .divisor = op == ReduceOp::mean ? static_cast<std::uint32_t>(sources.size()) : 0});
        const std::string shown = show_element(type, static_cast<std::byte*>(destination));
        executor_->release();
        return shown;
    }

    static std::string shown(ElementType type, double value) {
        return show_element(type, element_from(type, value).data());
    }

    std::unique_ptr<Executor> executor_;
    Random random_{20240731};
};

constexpr ElementType float_types[] = {ElementType::f16, ElementType::bf16,   ElementType::f32,
                                       ElementType::f64, ElementType::f8e4m3, ElementType::f8e5m2};
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

TEST_P(KernelConformance, EveryTypeOperatorAndNumberOfSources) {
    for (const ElementType type : all_element_types) {
        for (const ReduceOp op : all_reduce_ops) {
            for (std::uint32_t sources = 1; sources <= 9; ++sources) {
                for (const std::uint64_t count : {1, 17, 1031}) {
                    run_case(*executor_,
                             {.type = type, .op = op, .sources = sources, .count = count}, random_);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST_P(KernelConformance, EveryNumberOfDestinations) {
    for (std::uint32_t destinations = 1; destinations <= 9; ++destinations) {
        for (const ElementType type : all_element_types) {
            run_case(*executor_, {.type = type, .destinations = destinations, .count = 333},
                     random_);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(KernelConformance, MoreSpansThanFitIntoTheArguments) {
    run_case(*executor_,
             {.type = ElementType::f16,
              .op = ReduceOp::premul_sum,
              .sources = 40,
              .destinations = 33,
              .count = 2049},
             random_);
}

TEST_P(KernelConformance, EveryCountUpToSeveralPacks) {
    for (const ElementType type : all_element_types) {
        for (std::uint64_t count = 0; count <= 150; ++count) {
            run_case(*executor_, {.type = type, .sources = 3, .count = count, .first = count % 5},
                     random_);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(KernelConformance, SpansThatAreMisalignedAlike) {
    for (const ElementType type : all_element_types) {
        for (std::size_t off = 0; off < 64; off += size_of(type)) {
            run_case(*executor_,
                     {.type = type,
                      .destinations = 2,
                      .count = 401,
                      .misalignment = {off, off, off, off}},
                     random_);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(KernelConformance, SpansThatAreMisalignedToEachOther) {
    for (const ElementType type : all_element_types) {
        for (int round = 0; round < 40; ++round) {
            SpanCase c{.type = type,
                       .sources = 3,
                       .destinations = 2,
                       .count = random_() % 600,
                       .first = random_() % 3};
            for (int span = 0; span < 5; ++span) {
                c.misalignment.push_back(random_() % 16 * size_of(type));
            }
            run_case(*executor_, c, random_);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(KernelConformance, SpansThatAreNotAlignedToTheElement) {
    for (const ElementType type : all_element_types) {
        for (int round = 0; round < 40; ++round) {
            SpanCase c{.type = type, .sources = 2, .destinations = 2, .count = random_() % 300};
            for (int span = 0; span < 4; ++span) {
                c.misalignment.push_back(random_() % 33);
            }
            run_case(*executor_, c, random_);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(KernelConformance, DestinationIsASource) {
    for (const ElementType type : all_element_types) {
        for (int source = 0; source < 4; ++source) {
            for (const std::size_t off : {std::size_t{0}, size_of(type), std::size_t{3}}) {
                run_case(*executor_,
                         {.type = type,
                          .op = ReduceOp::mean,
                          .sources = 4,
                          .destinations = 2,
                          .count = 777,
                          .misalignment = {off, 0, off},
                          .in_place = source},
                         random_);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(KernelConformance, LargeSpans) {
    // 9 MiB per span: past the streaming threshold of host blocks, many tiles of a GPU block, and a
    // ragged end.
    for (const ElementType type : {ElementType::u8, ElementType::f16, ElementType::f64}) {
        const std::uint64_t count = (std::uint64_t{9} << 20) / size_of(type) + 5;
        const std::size_t off = size_of(type);
        run_case(
            *executor_,
            {.type = type, .destinations = 2, .count = count, .misalignment = {0, off, off, off}},
            random_);
        run_case(*executor_, {.type = type, .count = count, .in_place = 1}, random_);
        if (HasFatalFailure()) return;
    }
}

TEST_P(KernelConformance, AllPairsOfEightBitFloats) {
    for (const ElementType type : {ElementType::f8e4m3, ElementType::f8e5m2}) {
        std::byte* const first = executor_->allocate(65536);
        std::byte* const second = executor_->allocate(65536);
        void* const destination = executor_->allocate(65536);
        for (unsigned i = 0; i < 65536; ++i) {
            first[i] = static_cast<std::byte>(i & 255);
            second[i] = static_cast<std::byte>(i >> 8);
        }
        const void* const sources[] = {first, second};
        for (const ReduceOp op :
             {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::mean}) {
            const kernels::ReduceStep step{.sources = sources,
                                           .destinations = &destination,
                                           .source_count = 2,
                                           .destination_count = 1,
                                           .count = 65536,
                                           .divisor = op == ReduceOp::mean ? 3u : 0u};
            const auto expected = expected_result(type, op, step);
            executor_->reduce(type, op, step);
            const auto* const seen = static_cast<const std::byte*>(destination);
            for (unsigned i = 0; i < 65536; ++i) {
                ASSERT_TRUE(same_element(type, seen + i, &expected[i]))
                    << to_string(type) << " " << to_string(op) << " of "
                    << show_element(type, first + i) << " and " << show_element(type, second + i)
                    << " is " << show_element(type, seen + i) << " instead of "
                    << show_element(type, &expected[i]);
            }
        }
        executor_->release();
    }
}

TEST_P(KernelConformance, MinimumAndMaximumPreferNumbersToNaN) {
    for (const ElementType type : float_types) {
        for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
            EXPECT_EQ(fold_of(type, op, {nan, 2}), shown(type, 2)) << to_string(type);
            EXPECT_EQ(fold_of(type, op, {2, nan}), shown(type, 2)) << to_string(type);
            EXPECT_EQ(fold_of(type, op, {nan, -2, nan}), shown(type, -2)) << to_string(type);
            EXPECT_NE(fold_of(type, op, {nan, nan}).find("nan"), std::string::npos)
                << to_string(type);
        }
    }
}

TEST_P(KernelConformance, NegativeZeroIsLessThanZero) {
    for (const ElementType type : float_types) {
        for (const auto& zeros : {std::vector<double>{0.0, -0.0}, std::vector<double>{-0.0, 0.0}}) {
            EXPECT_EQ(fold_of(type, ReduceOp::min, zeros), shown(type, -0.0)) << to_string(type);
            EXPECT_EQ(fold_of(type, ReduceOp::max, zeros), shown(type, 0.0)) << to_string(type);
        }
        EXPECT_EQ(fold_of(type, ReduceOp::sum, {-0.0}), shown(type, -0.0)) << to_string(type);
    }
}

TEST_P(KernelConformance, SumsKeepNaNAndInfinity) {
    for (const ElementType type :
         {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64}) {
        EXPECT_NE(fold_of(type, ReduceOp::sum, {1, nan, 2}).find("nan"), std::string::npos)
            << to_string(type);
        EXPECT_EQ(fold_of(type, ReduceOp::sum, {1, -infinity}), shown(type, -infinity))
            << to_string(type);
        EXPECT_NE(fold_of(type, ReduceOp::sum, {infinity, -infinity}).find("nan"),
                  std::string::npos)
            << to_string(type);
    }
    EXPECT_EQ(fold_of(ElementType::f16, ReduceOp::sum, {65504, 65504}),
              shown(ElementType::f16, infinity));
}

TEST_P(KernelConformance, EightBitSumsSaturateAndSelectionsDoNot) {
    EXPECT_EQ(fold_of(ElementType::f8e4m3, ReduceOp::sum, {448, 448}),
              shown(ElementType::f8e4m3, 448));
    EXPECT_EQ(fold_of(ElementType::f8e5m2, ReduceOp::sum, {-57344, -57344}),
              shown(ElementType::f8e5m2, -57344));
    EXPECT_EQ(fold_of(ElementType::f8e5m2, ReduceOp::sum, {infinity, 1}),
              shown(ElementType::f8e5m2, 57344));
    EXPECT_EQ(fold_of(ElementType::f8e5m2, ReduceOp::max, {infinity, 1}),
              shown(ElementType::f8e5m2, infinity));
    EXPECT_EQ(fold_of(ElementType::f8e5m2, ReduceOp::min, {-infinity, 1}),
              shown(ElementType::f8e5m2, -infinity));
}

TEST_P(KernelConformance, NarrowTypesRoundOncePerStep) {
    // 2048 + 1 is 2048 in half; three sources in one step are 2050.
    EXPECT_EQ(fold_of(ElementType::f16, ReduceOp::sum, {2048, 1, 1}),
              shown(ElementType::f16, 2050));
    EXPECT_EQ(fold_of(ElementType::bf16, ReduceOp::sum, {256, 1, 1}),
              shown(ElementType::bf16, 258));
    EXPECT_EQ(fold_of(ElementType::f8e4m3, ReduceOp::sum, {16, 1, 1}),
              shown(ElementType::f8e4m3, 18));
    EXPECT_EQ(fold_of(ElementType::f16, ReduceOp::sum, {65504, 65504, -65504}),
              shown(ElementType::f16, 65504));
    EXPECT_EQ(fold_of(ElementType::f16, ReduceOp::mean, {65504, 65504}),
              shown(ElementType::f16, 65504));
}

TEST_P(KernelConformance, IntegersWrapAndMeansTruncateTowardZero) {
    EXPECT_EQ(fold_of(ElementType::i8, ReduceOp::sum, {127, 1}), shown(ElementType::i8, -128));
    EXPECT_EQ(fold_of(ElementType::i32, ReduceOp::sum, {2147483647, 1}),
              shown(ElementType::i32, -2147483648.0));
    EXPECT_EQ(fold_of(ElementType::u64, ReduceOp::prod, {4294967296.0, 4294967296.0}),
              shown(ElementType::u64, 0));
    EXPECT_EQ(fold_of(ElementType::i32, ReduceOp::mean, {-3, -4}), shown(ElementType::i32, -3));
    EXPECT_EQ(fold_of(ElementType::i8, ReduceOp::mean, {7, 0}), shown(ElementType::i8, 3));
    EXPECT_EQ(fold_of(ElementType::i64, ReduceOp::mean, {-1, 0}), shown(ElementType::i64, 0));
    // The sum wraps first: what a chain of steps can't know, one step does not use.
    EXPECT_EQ(fold_of(ElementType::i8, ReduceOp::mean, {100, 100}), shown(ElementType::i8, -28));
    EXPECT_EQ(fold_of(ElementType::u8, ReduceOp::mean, {200, 100}), shown(ElementType::u8, 22));
}

TEST_P(KernelConformance, CopiesAnyBytes) {
    for (int round = 0; round < 200; ++round) {
        const std::size_t bytes = random_() % 3000;
        const std::uint32_t destinations = 1 + random_() % 4;
        std::byte* const source = executor_->allocate(bytes + 32) + random_() % 32;
        std::generate_n(source, bytes, [&] { return static_cast<std::byte>(random_()); });
        std::vector<void*> spans;
        for (std::uint32_t d = 0; d < destinations; ++d) {
            spans.push_back(executor_->allocate(bytes + 64) + 16 + random_() % 32);
            std::memset(static_cast<std::byte*>(spans.back()) - 16, 0x5a, bytes + 32);
        }
        const void* const sources[] = {source};
        executor_->copy({.sources = sources,
                         .destinations = spans.data(),
                         .source_count = 1,
                         .destination_count = destinations,
                         .count = bytes});
        for (void* const span : spans) {
            const auto* const seen = static_cast<const std::byte*>(span);
            ASSERT_EQ(std::memcmp(seen, source, bytes), 0) << bytes << " bytes";
            ASSERT_TRUE(
                std::all_of(seen - 16, seen, [](std::byte b) { return b == std::byte{0x5a}; }));
            ASSERT_TRUE(std::all_of(seen + bytes, seen + bytes + 16,
                                    [](std::byte b) { return b == std::byte{0x5a}; }));
        }
        executor_->release();
    }
}

INSTANTIATE_TEST_SUITE_P(Executors, KernelConformance, testing::ValuesIn(conformance_executors()),
                         [](const auto& choice) { return choice.param.name; });

}  // namespace
}  // namespace rondo::test
