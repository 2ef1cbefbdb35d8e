// Averaging between threads: rounds, errors that reach everybody, workers that never come.
#include <atomic>
#include <cmath>
#include <cstring>
#include <latch>
#include <random>

#include "rondo/training/gradient_sync.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

using namespace std::chrono_literals;

#ifdef __SANITIZE_THREAD__
constexpr int many_rounds = 300;
#else
constexpr int many_rounds = 2000;
#endif

TEST(LocalGradientSync, ChangesNothing) {
    LocalGradientSync sync;
    std::vector<float> gradients{1, -2, 3};
    sync.sync_gradients(gradients);
    EXPECT_EQ(gradients, (std::vector<float>{1, -2, 3}));
    EXPECT_FALSE(sync.is_distributed());
    EXPECT_EQ(sync.num_workers(), 1u);
}

TEST(ThreadedGradientSync, EveryoneGetsTheMean) {
    const ThreadedGradientSync sync(4);
    EXPECT_TRUE(sync.is_distributed());
    EXPECT_EQ(sync.num_workers(), 4u);
    const auto errors = run_workers(4, [&](std::size_t w) {
        auto own = sync.worker(w);
        std::vector<float> gradients(1000, static_cast<float>(w));
        gradients[7] = static_cast<float>(8 * w);
        own.sync_gradients(gradients);
        EXPECT_EQ(gradients[0], 1.5f);
        EXPECT_EQ(gradients[7], 12.0f);
        EXPECT_EQ(gradients[999], 1.5f);
    });
    EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST(ThreadedGradientSync, OneWorkerIsNotDistributedAndKeepsItsGradients) {
    ThreadedGradientSync sync(1);
    EXPECT_FALSE(sync.is_distributed());
    std::vector<float> gradients{0.1f, 0.7f};
    sync.sync_gradients(gradients);
    EXPECT_EQ(gradients, (std::vector<float>{0.1f, 0.7f}));
}

TEST(ThreadedGradientSync, ThousandsOfRoundsWithAnyNumberOfWorkers) {
    for (const std::size_t workers : {2u, 3u, 8u, 32u}) {
        const ThreadedGradientSync sync(workers);
        const int rounds = many_rounds / static_cast<int>(workers);
        const auto errors = run_workers(workers, [&](std::size_t w) {
            auto own = sync.worker(w);
            for (int round = 0; round < rounds; ++round) {
                // Lengths around pieces and tiles, and none at all.
                const std::size_t length = round % 50 == 0 ? 70'001 : round % 7 * 1000;
                std::vector<float> gradients(length, static_cast<float>(w * 2 + round % 100));
                own.sync_gradients(gradients);
                const float mean = static_cast<float>(workers - 1 + round % 100);
                for (const float value : gradients) ASSERT_EQ(value, mean);
            }
        });
        EXPECT_EQ(errors, std::vector<std::string>(workers)) << workers;
    }
}

TEST(ThreadedGradientSync, TheMeanDoesNotDependOnWhoComesFirst) {
    constexpr std::size_t workers = 5, length = 40'037;  // not whole blocks
    std::vector<std::vector<float>> inputs(workers, std::vector<float>(length));
    std::mt19937 random(1);
    for (auto& input : inputs) {
        for (float& value : input) value = std::ldexp(static_cast<float>(random()), -20);
    }
    std::vector<float> expected(length);
    for (std::size_t i = 0; i < length; ++i) {
        float sum = inputs[0][i];
        for (std::size_t w = 1; w < workers; ++w) sum += inputs[w][i];
        expected[i] = sum / static_cast<float>(workers);
    }
    for (std::size_t late = 0; late < workers; ++late) {
        const ThreadedGradientSync sync(workers);
        std::atomic<std::size_t> begun = 0;
        run_workers(workers, [&](std::size_t w) {
            std::vector<float> gradients = inputs[w];
            auto own = sync.worker(w);
            if (w == late) {
                while (begun < workers - 1) std::this_thread::yield();
            } else {
                ++begun;
            }
            own.sync_gradients(gradients);
            EXPECT_EQ(std::memcmp(gradients.data(), expected.data(), length * sizeof(float)), 0);
        });
    }
}

TEST(ThreadedGradientSync, CopiesWithoutAnIndexWorkToo) {
    const ThreadedGradientSync sync(6);
    const auto errors = run_workers(6, [copy = sync](std::size_t w) mutable {
        auto own = copy;
        for (int round = 0; round < 20; ++round) {
            std::vector<float> gradients{static_cast<float>(w)};
            own.sync_gradients(gradients);
            ASSERT_EQ(gradients[0], 2.5f);
        }
    });
    EXPECT_EQ(errors, std::vector<std::string>(6));
}

TEST(ThreadedGradientSync, DifferentLengthsAreAnErrorForAllAndTheNextRoundWorks) {
    const ThreadedGradientSync sync(3);
    const auto errors = run_workers(3, [&](std::size_t w) {
        auto own = sync.worker(w);
        for (int round = 0; round < 50; ++round) {
            std::vector<float> odd(w == 1 ? 7 : 9, static_cast<float>(w));
            const std::string text = error_of<InvalidArgument>([&] { own.sync_gradients(odd); });
            expect_words(text, {"[9, 7, 9]"});
            EXPECT_EQ(odd[0], static_cast<float>(w));  // untouched
            std::vector<float> even(9, static_cast<float>(w));
            own.sync_gradients(even);
            EXPECT_EQ(even[8], 1.0f);
        }
    });
    EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(ThreadedGradientSync, OverlappingArraysAreRefused) {
    const ThreadedGradientSync sync(2);
    std::vector<float> shared(10, 1.0f);
    run_workers(2, [&](std::size_t w) {
        auto own = sync.worker(w);
        const std::string text = error_of<InvalidArgument>(
            [&] { own.sync_gradients(std::span(shared).subspan(w * 4, 5)); });
        expect_words(text, {"workers 0 and 1 overlap"});
    });
}

TEST(ThreadedGradientSync, AWorkerThatNeverComesIsNamedAndResetHelps) {
    ThreadedGradientSync sync(4, {.timeout = 50ms});
    const auto errors = run_workers(4, [&](std::size_t w) {
        if (w == 2) return;
        std::vector<float> gradients(5);
        sync.worker(w).sync_gradients(gradients);
    });
    for (const std::size_t w : {0u, 1u, 3u}) {
        expect_words(errors[w], {"only workers [0, 1, 3] had come", "[2] had not"});
    }
    // Too late: it is told at once, and waits for nobody.
    std::vector<float> late(5);
    expect_words(error_of<TimeoutError>([&] { sync.worker(2).sync_gradients(late); }),
                 {"[2] had not", "reset()"});
    sync.reset();
    const auto again = run_workers(4, [&](std::size_t w) {
        std::vector<float> gradients(5, static_cast<float>(w));
        sync.worker(w).sync_gradients(gradients);
        EXPECT_EQ(gradients[4], 1.5f);
    });
    EXPECT_EQ(again, std::vector<std::string>(4));
}

TEST(ThreadedGradientSync, ResetFreesThoseWhoWait) {
    ThreadedGradientSync sync(2, {.timeout = 60s});
    std::latch started(1);
    std::string text;
    std::jthread waiter([&] {
        std::vector<float> gradients(3);
        started.count_down();
        text = error_of<TimeoutError>([&] { sync.worker(0).sync_gradients(gradients); });
    });
    started.wait();
    // The waiter may not be inside yet: reset until it has gone.
    std::jthread resetter([&](std::stop_token stop) {
        while (!stop.stop_requested()) {
            sync.reset();
            std::this_thread::yield();
        }
    });
    waiter.join();
    expect_words(text, {"reset"});
}

TEST(ThreadedGradientSync, AWorkerIsInARoundOnce) {
    ThreadedGradientSync sync(2, {.timeout = 10s});
    std::atomic<int> refused = 0;
    std::atomic<bool> done = false;
    const auto twice = [&] {
        while (!done) {
            std::vector<float> gradients(3);
            try {
                sync.worker(0).sync_gradients(gradients);
            } catch (const InvalidArgument& error) {
                expect_words(error.what(), {"worker 0 is in this round"});
                ++refused;
            } catch (const TimeoutError&) {  // the reset below
            }
        }
    };
    std::jthread first(twice), second(twice);
    while (refused == 0) std::this_thread::yield();
    done = true;
    std::jthread resetter([&](std::stop_token stop) {
        while (!stop.stop_requested()) {
            sync.reset();
            std::this_thread::yield();
        }
    });
    first.join();
    second.join();
}

TEST(ThreadedGradientSync, BadArguments) {
    expect_words(error_of<InvalidArgument>([] { ThreadedGradientSync(0); }), {"0 workers"});
    expect_words(error_of<InvalidArgument>([] { ThreadedGradientSync(2, {.timeout = -1ns}); }),
                 {"-1 ns"});
    expect_words(error_of<InvalidArgument>([] { ThreadedGradientSync(2).worker(2); }),
                 {"worker 2 among 2"});
}

}  // namespace
}  // namespace rondo::training::test
