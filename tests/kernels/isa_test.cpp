// Instruction sets: which one is taken, and that wrong spans are seen by the address sanitizer.
#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/host/loops.hpp"

namespace rondo::kernels {
namespace {

TEST(Isa, BaselineIsAlwaysThereAndTheChosenOneIsSupported) {
    EXPECT_TRUE(supported_here(Isa::baseline));
    EXPECT_TRUE(supported_here(chosen_isa()));
}

TEST(Isa, EveryOneCanBeTested) {
    for (const Isa isa : all_isas) {
        if (!supported_here(isa)) {
            GTEST_SKIP() << "this processor does not have the instructions of " << to_string(isa);
        }
    }
}

TEST(Isa, LoopsThatTheProcessorCanNotRunAreRefused) {
    for (const Isa isa : all_isas) {
        if (!supported_here(isa)) {
            EXPECT_THROW(loops_of(isa), Unsupported) << to_string(isa);
        }
    }
}

/// Death tests run in a process of their own, where nothing has been chosen yet.
void print_choice_for(const char* value) {
    setenv("RONDO_ISA", value, 1);
    try {
        std::fprintf(stderr, "chose %s\n", std::string(to_string(chosen_isa())).c_str());
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    std::_Exit(0);
}

TEST(IsaDeathTest, TheEnvironmentForcesOne) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(print_choice_for("baseline"), testing::ExitedWithCode(0), "chose baseline");
    EXPECT_EXIT(print_choice_for("sse9"), testing::ExitedWithCode(0),
                "RONDO_ISA is 'sse9'; it must be baseline, avx2 or avx512");
}

#if defined(__SANITIZE_ADDRESS__)
TEST(IsaDeathTest, AStoreOutOfBoundsIsSeenByTheAddressSanitizer) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto input = std::make_unique<float[]>(1001);
    const auto output = std::make_unique<float[]>(1000);
    const void* const sources[] = {input.get()};
    void* const destinations[] = {output.get()};
    const ReduceStep step{.sources = sources,
                          .destinations = destinations,
                          .source_count = 1,
                          .destination_count = 1,
                          .count = 1001};
    for (const Isa isa : all_isas) {
        if (supported_here(isa)) {
            EXPECT_DEATH(find_fold(loops_of(isa).reduce, ElementType::f32, ReduceOp::sum)(
                             step, Stores::cached),
                         "heap-buffer-overflow");
        }
    }
}
#endif

}  // namespace
}  // namespace rondo::kernels
