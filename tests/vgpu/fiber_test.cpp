// The stacks that blocks run on: what is on them, and in the registers, survives every switch.
#include "vgpu/fiber.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace vgpu::test {
namespace {

/// A fiber with what its code reports.
struct Journey {
    Fiber fiber;
    std::vector<std::uint64_t> seen;
    std::uint64_t start = 0;
    std::string caught;
};

TEST(FiberTest, code_goes_on_where_it_was_suspended) {
    Journey journey;
    journey.fiber.start(
        [](void* argument) {
            auto& own = *static_cast<Journey*>(argument);
            for (std::uint64_t i = 0; i < 5; ++i) {
                own.seen.push_back(i);
                own.fiber.suspend();
            }
        },
        &journey);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        EXPECT_EQ(journey.seen.size(), i);
        EXPECT_FALSE(journey.fiber.finished());
        journey.fiber.resume();
    }
    EXPECT_TRUE(journey.fiber.finished());
    EXPECT_EQ(journey.seen, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

/// More values than registers, whole numbers and floating point, on both sides of the switch.
std::uint64_t mix(Fiber* suspended, Fiber* resumed, std::uint64_t seed) {
    std::array<std::uint64_t, 24> whole;
    std::array<double, 24> real;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        whole[i] = seed * (2 * i + 1);
        real[i] = static_cast<double>(seed) / static_cast<double>(i + 1);
    }
    for (int turn = 0; turn < 3; ++turn) {
        if (suspended != nullptr) suspended->suspend();
        if (resumed != nullptr) resumed->resume();
        for (std::size_t i = 0; i < whole.size(); ++i) {
            whole[i] = whole[i] * 6364136223846793005u + static_cast<std::uint64_t>(real[i]);
            real[i] = real[i] * 1.5 + 1;
        }
    }
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < whole.size(); ++i)
        result = result * 31 + whole[i] + static_cast<std::uint64_t>(real[i]);
    return result;
}

TEST(FiberTest, registers_survive_on_both_stacks) {
    Journey journey;
    journey.start = 12345;
    journey.fiber.start(
        [](void* argument) {
            auto& own = *static_cast<Journey*>(argument);
            own.seen.push_back(mix(&own.fiber, nullptr, own.start));
        },
        &journey);
    EXPECT_EQ(mix(nullptr, &journey.fiber, 999), mix(nullptr, nullptr, 999));
    ASSERT_TRUE(journey.fiber.finished());
    EXPECT_EQ(journey.seen.at(0), mix(nullptr, nullptr, 12345));
}

/// So that the compiler keeps the value in a register of vectors.
void keep(double& value) {
#if defined(__aarch64__)
    asm volatile("" : "+w"(value));
#else
    asm volatile("" : "+x"(value));
#endif
}

/// Keeps each value in a register of its own across the switch, as far as there are any.
[[gnu::noinline]] double keep_in_registers(Fiber* suspended, Fiber* resumed, double seed) {
    std::array<double, 32> real;
#pragma GCC unroll 32
    for (std::size_t i = 0; i < real.size(); ++i) {
        real[i] = seed + static_cast<double>(i);
        keep(real[i]);
    }
    if (suspended != nullptr) suspended->suspend();
    if (resumed != nullptr) resumed->resume();
    double result = 0;
#pragma GCC unroll 32
    for (std::size_t i = 0; i < real.size(); ++i) {
        keep(real[i]);
        result = result * 3 + real[i];
    }
    return result;
}

TEST(FiberTest, no_vector_register_is_forgotten) {
    Journey journey;
    static double inside = 0;
    journey.fiber.start(
        [](void* argument) {
            inside = keep_in_registers(&static_cast<Journey*>(argument)->fiber, nullptr, 1000);
        },
        &journey);
    const double outside = keep_in_registers(nullptr, &journey.fiber, 5);
    ASSERT_TRUE(journey.fiber.finished());
    EXPECT_EQ(outside, keep_in_registers(nullptr, nullptr, 5));
    EXPECT_EQ(inside, keep_in_registers(nullptr, nullptr, 1000));
}

TEST(FiberTest, an_exception_is_caught_on_the_fiber) {
    Journey journey;
    journey.fiber.start(
        [](void* argument) {
            auto& own = *static_cast<Journey*>(argument);
            try {
                own.fiber.suspend();
                throw std::runtime_error("after a switch");
            } catch (const std::exception& error) {
                own.caught = error.what();
            }
        },
        &journey);
    journey.fiber.resume();
    EXPECT_TRUE(journey.fiber.finished());
    EXPECT_EQ(journey.caught, "after a switch");
}

TEST(FiberTest, another_thread_resumes_it) {
    Journey journey;
    journey.start = 7;
    journey.fiber.start(
        [](void* argument) {
            auto& own = *static_cast<Journey*>(argument);
            own.seen.push_back(mix(&own.fiber, nullptr, own.start));
        },
        &journey);
    for (int i = 0; i < 3; ++i) std::thread([&] { journey.fiber.resume(); }).join();
    ASSERT_TRUE(journey.fiber.finished());
    EXPECT_EQ(journey.seen.at(0), mix(nullptr, nullptr, 7));
}

TEST(FiberTest, a_stack_is_used_again_and_has_room_for_deep_calls) {
    struct Depth {
        static std::uint64_t sum(std::uint64_t n) {
            volatile std::uint64_t own[16] = {n};
            return n == 0 ? 0 : own[0] + sum(n - 1);
        }
    };
    Journey journey;
    for (std::uint64_t life = 1; life <= 50; ++life) {
        journey.start = 5 * life;
        journey.fiber.start(
            [](void* argument) {
                auto& own = *static_cast<Journey*>(argument);
                own.seen.push_back(Depth::sum(own.start));
                own.fiber.suspend();
            },
            &journey);
        EXPECT_EQ(journey.seen.back(), journey.start * (journey.start + 1) / 2);
        journey.fiber.resume();
        ASSERT_TRUE(journey.fiber.finished());
    }
}

/// Vector code keeps aligned values on the stack.
TEST(FiberTest, the_stack_is_aligned_for_vectors) {
    Journey journey;
    journey.fiber.start(
        [](void* argument) {
            alignas(64) char line[64];
            auto& own = *static_cast<Journey*>(argument);
            char* volatile address = line;
            own.seen.push_back(reinterpret_cast<std::uintptr_t>(address) % 64);
            own.seen.push_back(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16);
        },
        &journey);
    EXPECT_EQ(journey.seen, (std::vector<std::uint64_t>{0, 0}));
}

TEST(FiberTest, many_fibers_are_resumed_in_any_order) {
    std::vector<std::unique_ptr<Journey>> journeys;
    for (std::uint64_t i = 0; i < 100; ++i) {
        auto& journey = *journeys.emplace_back(std::make_unique<Journey>());
        journey.start = i;
        journey.fiber.start(
            [](void* argument) {
                auto& own = *static_cast<Journey*>(argument);
                own.seen.push_back(mix(&own.fiber, nullptr, own.start));
            },
            &journey);
    }
    for (std::size_t turn = 0; turn < 3; ++turn) {
        for (std::size_t i = 0; i < journeys.size(); ++i)
            journeys[i * 37 % journeys.size()]->fiber.resume();
    }
    for (const auto& journey : journeys) {
        ASSERT_TRUE(journey->fiber.finished());
        EXPECT_EQ(journey->seen.at(0), mix(nullptr, nullptr, journey->start));
    }
}

}  // namespace
}  // namespace vgpu::test
