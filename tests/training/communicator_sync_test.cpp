// Gradients on devices: buckets, hooks, accumulation, unused parameters, uneven inputs.
#include <memory>
#include <mutex>

#include <cuda_runtime_api.h>

#include "rondo/training/communicator_sync.hpp"
#include "tests/training/support.hpp"
#include "training/sync/buckets.hpp"
#include "vgpu/control.hpp"

namespace rondo::training::test {
namespace {

using namespace std::chrono_literals;
using Lists = std::vector<std::vector<std::size_t>>;

std::vector<GradientSlice> slices(const std::vector<std::size_t>& sizes) {
    std::vector<GradientSlice> result;
    std::size_t offset = 0;
    for (const std::size_t size : sizes) {
        result.push_back({"p" + std::to_string(result.size()), offset, size});
        offset += size;
    }
    return result;
}

CommunicatorOptions devices(std::size_t workers, std::chrono::nanoseconds timeout = 60s) {
    CommunicatorOptions options{.timeout = timeout};
    for (std::size_t w = 0; w < workers; ++w) options.devices.push_back(static_cast<int>(w));
    return options;
}

/// Gradients on a device with a stream.
class Gradients {
public:
    Gradients(int device, const std::vector<float>& values)
        : tensor_(Tensor<float>::allocate(device, values.size())) {
        cudaSetDevice(device);
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        set(values);
    }
    ~Gradients() { cudaStreamDestroy(stream_); }
    void set(const std::vector<float>& values) {
        cudaMemcpyAsync(data(), values.data(), values.size() * 4, cudaMemcpyDefault, stream_);
        cudaStreamSynchronize(stream_);
    }
    std::vector<float> get() const {
        std::vector<float> values(tensor_.size());
        cudaMemcpyAsync(values.data(), data(), values.size() * 4, cudaMemcpyDefault, stream_);
        cudaStreamSynchronize(stream_);
        return values;
    }
    float* data() const { return tensor_.data(); }
    cudaStream_t stream() const { return stream_; }

private:
    Tensor<float> tensor_;
    cudaStream_t stream_ = nullptr;
};

std::vector<float> ramp(std::size_t count, std::size_t worker) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 50 + 4 * worker);
    return values;
}

std::vector<float> mean_ramp(std::size_t count, std::size_t workers) {
    std::vector<float> values = ramp(count, 0);
    for (float& value : values) value += 2 * static_cast<float>(workers - 1);
    return values;
}

TEST(Buckets, AreFilledInReverseOrderAndTheFirstIsSmall) {
    const BucketOptions options{.bucket_bytes = 400, .first_bucket_bytes = 40};
    EXPECT_EQ(first_buckets(slices({50, 60, 70, 10, 3}), options), (Lists{{4, 3}, {2, 1}, {0}}));
    EXPECT_EQ(first_buckets(slices({}), options), Lists{});
    BucketOptions known = options;
    known.order = {1, 0, 2};
    EXPECT_EQ(first_buckets(slices({50, 60, 70}), known), (Lists{{1}, {0, 2}}));
    EXPECT_EQ(first_buckets(slices({1000, 1}), options), (Lists{{1, 0}}));
    EXPECT_EQ(BucketOptions{}.bucket_bytes, 25u << 20);
    EXPECT_EQ(BucketOptions{}.first_bucket_bytes, 1u << 20);
}

TEST(Buckets, NeighboursAreReducedInPlace) {
    const auto parameters = slices({5, 6, 7});
    EXPECT_TRUE(lay_out({2, 1}, parameters).contiguous);
    EXPECT_EQ(lay_out({2, 1}, parameters).offset, 5u);
    EXPECT_FALSE(lay_out({2, 0}, parameters).contiguous);
}

class Workers : public testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override { vgpu::reset(); }
    /// Made before the workers begin and kept until all are done: nothing is freed in between.
    Gradients& make(std::size_t w, const std::vector<float>& values) {
        const std::scoped_lock lock(mutex_);
        made_.push_back(std::make_unique<Gradients>(static_cast<int>(w), values));
        return *made_.back();
    }
    std::mutex mutex_;
    std::vector<std::unique_ptr<Gradients>> made_;
    const std::size_t workers_ = GetParam();
};

TEST_P(Workers, GetTheMeanInAnyOrderOfReadiness) {
    const Communicator comm = Communicator::create(devices(workers_));
    const auto parameters = slices({100, 1000, 1, 300, 0, 50});
    const std::vector<std::size_t> order{1, 5, 0, 3, 4, 2};
    const auto errors = run_workers(workers_, [&](std::size_t w) {
        CommunicatorGradientSync sync(comm, static_cast<int>(w), parameters,
                                      {.bucket_bytes = 1600, .first_bucket_bytes = 4});
        EXPECT_EQ(sync.num_workers(), workers_);
        EXPECT_EQ(sync.buckets(), (Lists{{5}, {4, 3, 2, 1}, {0}}));
        for (int step = 0; step < 5; ++step) {
            Gradients& gradients = make(w, ramp(1451, w));
            sync.begin_step(gradients.data(), gradients.stream());
            for (const std::size_t p : order) sync.gradient_ready(p);
            sync.finish_step();
            sync.wait();
            ASSERT_EQ(gradients.get(), mean_ramp(1451, workers_)) << step;
        }
        // Made anew in the order of readiness.
        EXPECT_EQ(sync.buckets(), (Lists{{1}, {5, 0, 3}, {4, 2}}));
    });
    EXPECT_EQ(errors, std::vector<std::string>(workers_));
}

TEST_P(Workers, HalfPrecisionDividesBeforeItReduces) {
    const Communicator comm = Communicator::create(devices(workers_));
    for (const GradientHook hook : {GradientHook::bf16, GradientHook::f16}) {
        const auto errors = run_workers(workers_, [&](std::size_t w) {
            CommunicatorGradientSync sync(comm, static_cast<int>(w), slices({64}), {.hook = hook});
            // The sum of these is beyond what f16 can hold; the mean is not.
            Gradients& gradients = make(w, std::vector<float>(64, 61440));
            sync.begin_step(gradients.data(), gradients.stream());
            sync.gradient_ready(0);
            sync.finish_step();
            sync.wait();
            for (const float value : gradients.get()) {
                ASSERT_NEAR(value, 61440, 61440 * (hook == GradientHook::f16 ? 2e-3 : 2e-2));
            }
        });
        EXPECT_EQ(errors, std::vector<std::string>(workers_));
    }
}

TEST_P(Workers, SumAndWeightedMean) {
    const Communicator comm = Communicator::create(devices(workers_));
    const float n = static_cast<float>(workers_);
    const auto errors = run_workers(workers_, [&](std::size_t w) {
        CommunicatorGradientSync sum(comm, static_cast<int>(w), slices({3}),
                                     {.aggregation = GradientAggregation::sum});
        Gradients gradients(static_cast<int>(w), std::vector<float>(3, 2));
        sum.begin_step(gradients.data(), gradients.stream());
        sum.gradient_ready(0);
        sum.finish_step();
        EXPECT_EQ(gradients.get()[1], 2 * n);
        // Worker 0 has half of all samples.
        CommunicatorGradientSync weighted(comm, static_cast<int>(w), slices({3}),
                                          {.aggregation = GradientAggregation::weighted_mean});
        gradients.set(std::vector<float>(3, w == 0 ? 8 : 4));
        weighted.begin_step(gradients.data(), gradients.stream(),
                            workers_ == 1 ? 1.0
                            : w == 0      ? 0.5
                                          : 0.5 / (n - 1));
        weighted.gradient_ready(0);
        weighted.finish_step();
        EXPECT_NEAR(gradients.get()[2], workers_ == 1 ? 8 : 6, 1e-5);
    });
    EXPECT_EQ(errors, std::vector<std::string>(workers_));
}

TEST_P(Workers, AccumulateWithoutSending) {
    const Communicator comm = Communicator::create(devices(workers_));
    run_workers(workers_, [&](std::size_t w) {
        CommunicatorGradientSync sync(comm, static_cast<int>(w), slices({4, 4}));
        Gradients gradients(static_cast<int>(w), ramp(8, w));
        sync.set_synchronizing(false);
        sync.begin_step(gradients.data(), gradients.stream());
        sync.gradient_ready(1);
        sync.gradient_ready(0);
        sync.finish_step();
        EXPECT_EQ(gradients.get(), ramp(8, w));
        sync.set_synchronizing(true);
        sync.begin_step(gradients.data(), gradients.stream());
        sync.gradient_ready(1);  // 0 was accumulated before and is sent all the same
        sync.finish_step();
        EXPECT_EQ(gradients.get(), mean_ramp(8, workers_));
    });
}

TEST_P(Workers, UnusedParametersCountAsZero) {
    const Communicator comm = Communicator::create(devices(workers_));
    const auto errors = run_workers(workers_, [&](std::size_t w) {
        CommunicatorGradientSync sync(comm, static_cast<int>(w), slices({2, 2, 2}),
                                      {.find_unused = true});
        for (int step = 0; step < 3; ++step) {
            Gradients& gradients = make(w, std::vector<float>(6, 7));
            sync.begin_step(gradients.data(), gradients.stream());
            if (w == 0) sync.gradient_ready(1);  // only worker 0 uses it; nobody uses 0
            sync.gradient_ready(2);
            sync.finish_step();
            const float part = 7 / static_cast<float>(workers_);
            EXPECT_EQ(gradients.get(), (std::vector<float>{0, 0, part, part, 7, 7}));
            EXPECT_FALSE(sync.used(0));
            EXPECT_TRUE(sync.used(1));
            EXPECT_TRUE(sync.used(2));
        }
    });
    EXPECT_EQ(errors, std::vector<std::string>(workers_));
}

TEST_P(Workers, UnevenInputsJoin) {
    const Communicator comm = Communicator::create(devices(workers_));
    const std::size_t n = workers_;
    for (const bool all : {true, false}) {
        const auto errors = run_workers(n, [&](std::size_t w) {
            CommunicatorGradientSync sync(comm, static_cast<int>(w), slices({3, 5}),
                                          {.uneven_inputs = true, .divide_by_all_workers = all});
            // Worker w has w steps; the last has the most.
            for (std::size_t step = 0; step < w; ++step) {
                Gradients& gradients = make(w, std::vector<float>(8, 12));
                sync.begin_step(gradients.data(), gradients.stream());
                sync.gradient_ready(1);
                sync.gradient_ready(0);
                sync.finish_step();
                const float active = static_cast<float>(n - 1 - step);
                const float divisor = all ? static_cast<float>(n) : active;
                EXPECT_FLOAT_EQ(gradients.get()[0], 12 * active / divisor) << w << " " << step;
            }
            Gradients& model = make(w, std::vector<float>(4, static_cast<float>(w)));
            sync.join(model.data(), 4);
            EXPECT_EQ(model.get(), std::vector<float>(4, static_cast<float>(n - 1)));
        });
        EXPECT_EQ(errors, std::vector<std::string>(n));
    }
}

TEST_P(Workers, WholeArraysOnHostAndDevice) {
    const Communicator comm = Communicator::create(devices(workers_));
    const auto errors = run_workers(workers_, [&](std::size_t w) {
        CommunicatorGradientSync sync(comm, static_cast<int>(w), {});
        std::vector<float> host = ramp(500, w);
        sync.sync_gradients(host);
        EXPECT_EQ(host, mean_ramp(500, workers_));
        if (workers_ > 1) {
            std::vector<float> odd(w == 1 ? 4 : 5);
            expect_words(error_of<InvalidArgument>([&] { sync.sync_gradients(odd); }), {"5, 4"});
        }
        Gradients device(static_cast<int>(w), ramp(500, w));
        sync.sync_gradients(std::span(device.data(), 500));
        EXPECT_EQ(device.get(), mean_ramp(500, workers_));
    });
    EXPECT_EQ(errors, std::vector<std::string>(workers_));
}

INSTANTIATE_TEST_SUITE_P(Of, Workers, testing::Values(1, 2, 3, 8));

TEST(CommunicatorGradientSync, Errors) {
    const Communicator comm = Communicator::create(devices(1));
    const auto make = [&](std::vector<GradientSlice> parameters, BucketOptions options = {}) {
        return CommunicatorGradientSync(comm, 0, std::move(parameters), options);
    };
    expect_words(error_of<InvalidArgument>([&] { make(slices({1}), {.bucket_bytes = 0}); }),
                 {"buckets of 0 bytes"});
    expect_words(error_of<InvalidArgument>([&] {
                     make({{"a", 0, 5}, {"b", 4, 5}});
                 }),
                 {"'a' and 'b' overlap"});
    for (const std::vector<std::size_t>& order :
         {std::vector<std::size_t>{0}, {0, 0}, {0, 2}, {0, 1, 2}}) {
        expect_words(error_of<InvalidArgument>([&] {
                         make(slices({1, 1}), {.order = order});
                     }),
                     {"order", "each of 2 parameters once"});
    }
    expect_words(error_of<InvalidArgument>([&] { CommunicatorGradientSync(comm, 1, {}); }), {"1"});
    CommunicatorGradientSync sync = make(slices({2, 2}));
    Gradients gradients(0, std::vector<float>(4));
    expect_words(error_of<InvalidArgument>([&] { sync.finish_step(); }), {"no step"});
    sync.begin_step(gradients.data(), gradients.stream());
    expect_words(error_of<InvalidArgument>([&] { sync.gradient_ready(2); }), {"parameter 2"});
    sync.gradient_ready(1);
    expect_words(error_of<InvalidArgument>([&] { sync.gradient_ready(1); }), {"'p1' was ready"});
    expect_words(error_of<InvalidArgument>([&] { sync.finish_step(); }), {"p0", "find_unused"});
    expect_words(error_of<InvalidArgument>([&] { sync.join(gradients.data(), 4); }),
                 {"uneven_inputs"});
}

TEST(CommunicatorGradientSync, AWorkerThatDoesNotComeIsNamed) {
    const Communicator comm = Communicator::create(devices(3, 300ms));
    const auto errors = run_workers(3, [&](std::size_t w) {
        if (w == 1) return;
        CommunicatorGradientSync sync(comm, static_cast<int>(w), slices({10}));
        Gradients gradients(static_cast<int>(w), ramp(10, w));
        sync.begin_step(gradients.data(), gradients.stream());
        sync.gradient_ready(0);
        sync.finish_step();
        sync.wait();
    });
    expect_words(errors[0], {"rank 1"});
    expect_words(errors[2], {"rank 1"});
}

TEST(CommunicatorGradientSync, BucketsShowInATimeline) {
    const Communicator comm = Communicator::create(devices(2));
    Timeline timeline;
    run_workers(2, [&](std::size_t w) {
        CommunicatorGradientSync sync(comm, static_cast<int>(w), slices({300, 300}),
                                      {.first_bucket_bytes = 4});
        sync.observe(&timeline, static_cast<std::uint32_t>(w), 7);
        Gradients gradients(static_cast<int>(w), ramp(600, w));
        sync.begin_step(gradients.data(), gradients.stream());
        sync.gradient_ready(1);
        sync.gradient_ready(0);
        sync.finish_step();
        gradients.get();
    });
    const auto spans = timeline.spans();
    ASSERT_EQ(spans.size(), 4u);
    for (const TimelineSpan& span : spans) {
        EXPECT_EQ(span.lane, "sync");
        EXPECT_EQ(span.step, 7u);
        EXPECT_LE(span.begin, span.end);
    }
    expect_words(timeline.to_chrome_trace(), {"bucket 0", "bucket 1", "worker 1", "\"ph\": \"X\""});
}

}  // namespace
}  // namespace rondo::training::test
