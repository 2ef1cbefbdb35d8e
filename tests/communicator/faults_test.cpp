// What can break, on vgpu: devices, links, blocks, any CUDA call. Every case ends in time, with an
// error that names the cause, and leaks nothing.
#include <optional>

#include "tests/communicator/fixture.hpp"
#include "tests/communicator/test_memory.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

class Faults : public testing::Test {
protected:
    void SetUp() override { vgpu::reset(); }
    void TearDown() override { vgpu::reset(); }

    /// The error of one all_reduce of three ranks after `damage`.
    template <class Damage>
    std::string error_after(Damage damage, const Strategy& strategy = Strategy::ring()) {
        Communicator comm = Communicator::create(options_of(3, 500ms));
        const PerReplica<float> value = ramp(3, 10000);
        comm.all_reduce(ReduceOp::sum, value, {.strategy = strategy}).wait();
        damage();
        const auto begin = std::chrono::steady_clock::now();
        std::string text;
        try {
            comm.all_reduce(ReduceOp::sum, value, {.strategy = strategy}).wait();
        } catch (const Error& error) {
            text = error.what();
            EXPECT_FALSE(recoverable(error));
        }
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
        EXPECT_EQ(comm.status() == nullptr, text.empty());
        vgpu::clear_faults();
        return text;
    }
};

TEST_F(Faults, LostDevice) {
    const std::string error = error_after([] { vgpu::lose_device(1); });
    EXPECT_NE(error.find("cudaErrorDevicesUnavailable"), std::string::npos) << error;
    EXPECT_NE(error.find("cudaSetDevice(1)"), std::string::npos) << error;
}

/// The kernel of a healthy device fails when it writes to the lost one; the error still names that.
TEST_F(Faults, LostDeviceIsNamedWhenAPeerMeetsItFirst) {
    if (!vgpu::options().check) GTEST_SKIP() << "accesses are checked with VGPU_CHECK=1 only";
    Communicator comm = Communicator::create(options_of(3, 20s));
    const PerReplica<float> value = ramp(3, 100);
    // Its input is sent, so that the host does not ask beforehand what peers can reach.
    const CallOptions options{.strategy = Strategy::direct(1)};
    comm.all_reduce(ReduceOp::sum, value, options).wait();
    vgpu::lose_device(1);
    const std::string error = error_of<CudaError>([&] {
        comm.rank(0)
            .all_reduce(ReduceOp::sum, value[0].data(), value[0].data(), 100, options)
            .wait();
    });
    EXPECT_NE(error.find("device 0"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1: cudaSetDevice(1): cudaErrorDevicesUnavailable"),
              std::string::npos)
        << error;
    vgpu::clear_faults();
}

TEST_F(Faults, CutLink) {
    if (!vgpu::options().check) GTEST_SKIP() << "accesses are checked with VGPU_CHECK=1 only";
    const std::string error = error_after([] { vgpu::cut_link(0, 1); });
    EXPECT_NE(error.find("cudaErrorNvlinkUncorrectable"), std::string::npos) << error;
}

TEST_F(Faults, StoppedRank) {
    for (const Strategy& strategy :
         {Strategy::ring(), Strategy::tree(2), Strategy::direct(1), Strategy::direct(2)}) {
        for (const std::uint64_t nth : {0, 1, 4, 9}) {
            vgpu::reset();
            const std::string error = error_after(
                [&] { vgpu::kill_block({.kernel = "program_kernel", .device = 2}, nth); },
                strategy);
            if (error.empty() && nth > 3) continue;  // the block had ended before
            EXPECT_NE(error.find("timed out"), std::string::npos)
                << to_string(strategy) << " " << nth << ": " << error;
            EXPECT_NE(error.find("rank 2"), std::string::npos)
                << to_string(strategy) << " " << nth << ": " << error;
        }
    }
}

TEST_F(Faults, SlowRankIsWaitedFor) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 1000);
    const std::vector<float> sum = sum_of(value);
    vgpu::delay_block({.kernel = "program_kernel", .device = 1}, 20ms);
    comm.all_reduce(ReduceOp::sum, value).wait();
    EXPECT_EQ(values_of(value[0]), sum);
    vgpu::clear_faults();
}

/// What ramp() gives, in memory of any source.
class Replicas {
public:
    explicit Replicas(MemorySource source) : memory_(source) {
        const PerReplica<float> values = ramp(3, 1000);
        for (const Tensor<float>& tensor : values) {
            const std::size_t bytes = tensor.size() * sizeof(float);
            auto* const data = reinterpret_cast<float*>(memory_.allocate(tensor.device(), bytes));
            const std::vector<float> own = values_of(tensor);
            expect_success(cudaMemcpy(data, own.data(), bytes, cudaMemcpyDefault));
            tensors_.emplace_back(tensor.device(), data, tensor.size());
        }
    }
    ~Replicas() {
        for (const Tensor<float>& tensor : tensors_) cudaFree(tensor.data());
    }
    Replicas(const Replicas&) = delete;
    Replicas& operator=(const Replicas&) = delete;

    PerReplica<float> get() const { return PerReplica<float>(tensors_); }

private:
    TestMemory memory_;
    std::vector<Tensor<float>> tensors_;
};

/// Makes the k-th CUDA call fail, for k = 1, 2, ... until nothing fails any more.
void fail_every_call(MemorySource source, const Strategy& strategy) {
    std::uint64_t failures = 0;
    for (std::uint64_t kth = 1;; ++kth) {
        const Replicas replicas(source);
        const PerReplica<float> value = replicas.get();
        const std::vector<float> sum = sum_of(value);
        const vgpu::Counters before = vgpu::counters();
        bool failed = false, fired = false;
        {
            std::optional<Communicator> comm;
            vgpu::fail_any_call(kth, cudaErrorUnknown);
            try {
                comm = Communicator::create(options_of(3, 20s));
                comm->all_reduce(ReduceOp::sum, value, {.strategy = strategy}).wait();
            } catch (const CudaError& error) {
                failed = true;
                EXPECT_EQ(error.code(), cudaErrorUnknown) << kth << ": " << error.what();
            } catch (const Error& error) {
                failed = true;
                ADD_FAILURE() << "call " << kth << ": " << error.what();
            }
            fired = vgpu::counters().api_calls - before.api_calls >= kth;
            vgpu::fail_any_call(0, cudaSuccess);
        }
        const vgpu::Counters after = vgpu::counters();
        // What fails while something is given back is logged, and the call goes on.
        if (failed || !fired) {
            EXPECT_EQ(after.live_allocations, before.live_allocations) << kth;
            EXPECT_EQ(after.live_streams, before.live_streams) << kth;
            EXPECT_EQ(after.live_events, before.live_events) << kth;
        }
        if (!failed) {
            EXPECT_EQ(values_of(value[2]), sum);
        }
        if (!fired) break;
        failures += failed ? 1 : 0;
        ASSERT_LT(kth, 5000u);
    }
    EXPECT_GT(failures, 100u);
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 10);
    comm.all_reduce(ReduceOp::sum, value).wait();
}

TEST_F(Faults, AnyCudaCallMayFail) {
    fail_every_call(MemorySource::device, Strategy::tree(2));
}

/// Also those that find out what peers can't map, and make and fill stand-ins.
TEST_F(Faults, AnyCudaCallMayFailWhileBuffersAreStaged) {
#ifdef __SANITIZE_THREAD__
    // Nobody can wait for ranks that failed, so what the buffers hold then is undefined.
    GTEST_SKIP() << "after a failure the copy out of a stand-in may meet a peer's last write";
#endif
    fail_every_call(MemorySource::closed_pool, Strategy::direct(2));
}

}  // namespace
}  // namespace rondo::test
