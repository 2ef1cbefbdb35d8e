// Kernels that nvcc compiled, for every architecture: results are what the source says.
#include <algorithm>
#include <bit>
#include <fstream>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/vgpu_ptx/engine_fixture.hpp"

namespace vgpu::ptx::test {
namespace {

std::string text_of(const std::string& architecture) {
    std::ifstream file(std::string(PTX_FOLDER) + "/compiled_" + architecture + ".ptx");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Architecture, and whether warps interleave at random.
class CompiledTest : public testing::TestWithParam<std::tuple<std::string, unsigned>> {
protected:
    CompiledTest() : text_(text_of(std::get<0>(GetParam()))), machine_(text_) {
        machine_.seed = std::get<1>(GetParam());
    }
    std::string text_;
    Machine machine_;
};

TEST_P(CompiledTest, AddsVectors) {
    std::vector<float> a(1000), b(1000);
    std::iota(a.begin(), a.end(), 0.5f);
    std::iota(b.begin(), b.end(), -100.0f);
    float* const c = machine_.upload(std::vector<float>(1000));
    machine_.launch("vector_add", {{4}, {256}}, machine_.upload(a), machine_.upload(b), c, 1000);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST_P(CompiledTest, SumsABlock) {
    std::vector<int> in(5000);
    std::iota(in.begin(), in.end(), -17);
    int* const out = machine_.upload(std::vector<int>{0});
    machine_.launch("block_sum", {{3}, {224}}, machine_.upload(in), out, 5000);
    EXPECT_EQ(*out, std::accumulate(in.begin(), in.end(), 0));
}

TEST_P(CompiledTest, CountsWithDynamicSharedMemory) {
    std::vector<unsigned char> in(3000);
    std::vector<unsigned> expected(256);
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<unsigned char>(i * i / 7);
        ++expected[in[i]];
    }
    unsigned* const bins = machine_.upload(std::vector<unsigned>(256));
    machine_.launch("histogram", {{2}, {100}, 1024}, machine_.upload(in), bins, 3000);
    EXPECT_EQ(machine_.download(bins, 256), expected);
}

TEST_P(CompiledTest, MultipliesMatrices) {
    constexpr int n = 24;
    std::vector<double> a(n * n), b(n * n);
    std::iota(a.begin(), a.end(), -5.0);
    std::iota(b.begin(), b.end(), 3.0);
    double* const c = machine_.upload(std::vector<double>(n * n));
    machine_.launch("matrix_multiply", {{3, 3}, {8, 8}}, machine_.upload(a), machine_.upload(b), c,
                    n);
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            double sum = 0;
            for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
            ASSERT_EQ(c[y * n + x], sum) << x << " " << y;
        }
    }
}

TEST_P(CompiledTest, Recurses) {
    int* const out = machine_.upload(std::vector<int>(64));
    machine_.launch("recursion", {{1}, {64}}, out);
    const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], fibonacci[i % 13]) << i;
}

TEST_P(CompiledTest, CallsThroughPointers) {
    int* const out = machine_.upload(std::vector<int>(50));
    machine_.launch("indirect", {{1}, {50}}, out);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(out[i], i % 3 == 0 ? 2 * i : i % 3 == 1 ? i * i : -i) << i;
}

TEST_P(CompiledTest, Switches) {
    std::vector<int> in(96);
    for (int i = 0; i < 96; ++i) in[i] = i * 7 % 9;
    int* const out = machine_.upload(std::vector<int>(96));
    machine_.launch("switches", {{1}, {96}}, machine_.upload(in), out);
    for (unsigned t = 0; t < 96; ++t) {
        unsigned squares = 0, reversed = 0;
        for (unsigned i = 0; i < t; ++i) squares += i * i;
        for (unsigned bit = 0; bit < 32; ++bit) reversed |= (t >> bit & 1) << (31 - bit);
        const int expected[] = {static_cast<int>(17 * t),
                                static_cast<int>(4 + t),
                                static_cast<int>(t ^ 0x55),
                                static_cast<int>(squares),
                                std::popcount(t),
                                std::countl_zero(t),
                                static_cast<int>(reversed),
                                t == 0 ? 0 : std::countr_zero(t) + 1,
                                -1};
        EXPECT_EQ(out[t], expected[in[t]]) << t;
    }
}

TEST_P(CompiledTest, HasVariables) {
    std::vector<int> in(40, 2);
    machine_.launch("variables", {{1}, {40}}, machine_.upload(in));
    const auto* const total = static_cast<const int*>(machine_.image->address("total"));
    ASSERT_NE(total, nullptr);
    EXPECT_EQ(*total, 10 * 2 * (3 + 5 + 7 + 11));
    EXPECT_EQ(machine_.image->address("absent"), nullptr);
}

TEST_P(CompiledTest, HasLocalArrays) {
    const std::vector<int> in{9, -4, 12, 0, 33, 2, 2, -7, 100, 5, 1, 64, -30, 8, 7, 6};
    std::vector<int> sorted = in;
    std::sort(sorted.begin(), sorted.end());
    int* const out = machine_.upload(std::vector<int>(70));
    machine_.launch("local_array", {{1}, {70}}, machine_.upload(in), out, 3);
    for (int t = 0; t < 70; ++t) EXPECT_EQ(out[t], sorted[(3 + t) % 16] * (t + 1)) << t;
}

TEST_P(CompiledTest, Prints) {
    const std::string word = "hello";
    std::vector<char> bytes(word.begin(), word.end());
    bytes.push_back('\0');
    machine_.launch("say", {{2}, {2}}, 7, machine_.upload(bytes));
    EXPECT_EQ(machine_.hooks.printed,
              "thread 0 of block 0: hello  1.75 60129542144%\nthread 1 of block 0: hello  1.75 "
              "60129542144%\n"
              "thread 0 of block 1: hello  1.75 60129542144%\nthread 1 of block 1: hello  1.75 "
              "60129542144%\n");
}

TEST_P(CompiledTest, Asserts) {
    machine_.launch("check", {{1}, {40}}, 40);
    const std::string text = fault_of(machine_, FaultKind::assertion, "check", {{1}, {40}}, 35);
    EXPECT_THAT(text, testing::HasSubstr("assertion `(int)threadIdx.x < limit` failed"));
    EXPECT_THAT(text, testing::HasSubstr("compiled.cu"));
    EXPECT_THAT(text, testing::HasSubstr("thread (35, 0, 0)"));
}

TEST_P(CompiledTest, HasThreeDimensions) {
    unsigned* const out = machine_.upload(std::vector<unsigned>(6 * 4 * 6));
    machine_.launch("three_dimensions", {{2, 2, 3}, {3, 2, 2}}, out);
    for (unsigned z = 0; z < 6; ++z) {
        for (unsigned y = 0; y < 4; ++y) {
            for (unsigned x = 0; x < 6; ++x)
                EXPECT_EQ(out[(z * 4 + y) * 6 + x], x | y << 8 | z << 16);
        }
    }
}

TEST_P(CompiledTest, LetsEveryLaneHaveALock) {
    int* const lock = machine_.upload(std::vector<int>{0});
    int* const counter = machine_.upload(std::vector<int>{0});
    machine_.launch("spin_lock", {{2}, {96}}, lock, counter);
    EXPECT_EQ(*counter, 192);
}

TEST_P(CompiledTest, LetsAWarpWaitForAnother) {
    int* const out = machine_.upload(std::vector<int>(32));
    machine_.launch("hand_over", {{1}, {64}}, machine_.upload(std::vector<int>{0}), out);
    EXPECT_THAT(machine_.download(out, 32), testing::Each(7));
}

TEST_P(CompiledTest, Votes) {
    unsigned* const out = machine_.upload(std::vector<unsigned>(128));
    machine_.launch("votes", {{1}, {32}}, out);
    for (unsigned t = 0; t < 32; ++t) {
        unsigned thirds = 0, same = 0;
        for (unsigned i = 0; i < 32; ++i) {
            thirds |= static_cast<unsigned>(i % 3 == 0) << i;
            same |= static_cast<unsigned>(i % 5 == t % 5) << i;
        }
        EXPECT_EQ(out[t], thirds);
        EXPECT_EQ(out[32 + t], same) << t;
        EXPECT_EQ(out[64 + t], 1u);
        EXPECT_EQ(out[96 + t], t % 2 == 0 ? 0x55555555u : 5u) << t;
    }
}

TEST_P(CompiledTest, CalculatesWithHalves) {
    // 1.5 and -2, 0.25 and 3 as pairs; x * y + x
    const std::vector<std::uint32_t> a{0xc0003e00u}, b{0x42003400u};
    std::uint32_t* const sum = machine_.upload(std::vector<std::uint32_t>(1));
    float* const wide = machine_.upload(std::vector<float>(1));
    machine_.launch("halves", {{1}, {1}}, machine_.upload(a), machine_.upload(b), sum, wide);
    EXPECT_EQ(*sum, 0xc8003f80u);  // 1.5 * 0.25 + 1.5 = 1.875, -2 * 3 - 2 = -8
    EXPECT_EQ(*wide, 1.875f - 8.0f);
}

TEST_P(CompiledTest, CountsInBarriers) {
    int* const out = machine_.upload(std::vector<int>(90));
    machine_.launch("counted", {{1}, {90}}, out);
    EXPECT_THAT(machine_.download(out, 90), testing::Each(45 * 4 + 2 + 1));
}

INSTANTIATE_TEST_SUITE_P(Architectures, CompiledTest,
                         testing::Combine(testing::Values("75", "80", "90", "120"),
                                          testing::Values(0u, 1u, 2u)),
                         [](const auto& info) {
                             return "compute_" + std::get<0>(info.param) + "_seed_" +
                                    std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace vgpu::ptx::test
