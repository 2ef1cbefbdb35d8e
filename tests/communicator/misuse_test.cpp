// What a user may do wrong, and what must not happen then: a wrong result, a crash, a hang, or the
// end of a communicator that has not even begun.
#include <numeric>
#include <sstream>
#include <thread>

#include "tests/communicator/fixture.hpp"
#include "tests/schedule/problems.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

void expect_usable(Communicator& comm) {
    EXPECT_EQ(comm.status(), nullptr);
    const PerReplica<float> value = ramp(comm.size(), 100);
    const std::vector<float> sum = sum_of(value);
    comm.all_reduce(ReduceOp::sum, value).wait();
    EXPECT_EQ(values_of(value[0]), sum);
}

// ---- custom schedules

/// Parts have the lengths of the call, whatever the shares of their units are.
TEST(CustomSchedules, ServeAnyCounts) {
    Communicator comm = Communicator::create(options_of(2));
    Schedule schedule = simple(Strategy::direct(2), 2, Collective::all_gather);
    ASSERT_EQ(schedule.unit_shares.size(), 2u);
    schedule.unit_shares = {1, 3};  // each is all of its part
    const std::uint32_t number = comm.add_schedule(schedule);
    for (const auto& counts :
         std::vector<std::vector<std::uint64_t>>{{50, 50}, {25, 75}, {0, 100}, {1, 2}, {0, 0}}) {
        std::vector<Tensor<float>> inputs, outputs;
        std::vector<float> expected;
        for (int rank = 0; rank < 2; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            const std::vector<float> own(counts[r], static_cast<float>(rank + 1));
            expected.insert(expected.end(), own.begin(), own.end());
            inputs.push_back(tensor_on(rank, own));
        }
        for (int rank = 0; rank < 2; ++rank) {
            outputs.push_back(tensor_on(rank, std::vector<float>(expected.size())));
        }
        comm.all_gather(PerReplica<float>(inputs), PerReplica<float>(outputs), {.schedule = number})
            .wait();
        for (const Tensor<float>& output : outputs) EXPECT_EQ(values_of(output), expected);
    }
}

TEST(CustomSchedules, AreComparedWithTheCall) {
    Communicator comm = Communicator::create(options_of(2));
    const MachineView machine(2);
    const Schedule both = build({.machine = machine,
                                 .collective = Collective::reduce,
                                 .destinations = {0, 1},
                                 .strategy = Strategy::centralized()});
    const std::uint32_t number = comm.add_schedule(both);
    const PerReplica<float> value = ramp(2, 100);
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.rank(0).reduce(ReduceOp::sum, value[0].data(), value[0].data(), 100, 0,
                                      {.schedule = number});
              }).find("destinations [0, 1], not for reduce with root 0 and destinations [0]"),
              std::string::npos);
    Schedule nothing = simple(Strategy::ring(), 2);
    std::ranges::fill(nothing.unit_shares, 0);
    EXPECT_NE(error_of<InvalidArgument>([&] { comm.add_schedule(nothing); }).find("add up to 0"),
              std::string::npos);
    expect_usable(comm);
}

// ---- the end of a communicator

TEST(Destructor, EndsWhatCanNotEndByItself) {
    const auto begin = std::chrono::steady_clock::now();
    {
        const PerReplica<float> value = ramp(3, 100);
        Communicator comm = Communicator::create(options_of(3, 200s));
        comm.rank(0).all_reduce(ReduceOp::sum, value[0].data(), value[0].data(), 100);
        comm.rank(2).all_reduce(ReduceOp::sum, value[2].data(), value[2].data(), 100);
    }
    {
        const PerReplica<float> value = ramp(3, 100);
        Communicator comm = Communicator::create(options_of(3, 200s));
        comm.rank(0).send(value[0].data(), 100, 2);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 100s);
}

TEST(Destructor, LetsCompleteCallsEnd) {
    const PerReplica<float> value = ramp(3, 100'000);
    const std::vector<float> sum = sum_of(value);
    {
        Communicator comm = Communicator::create(options_of(3));
        comm.all_reduce(ReduceOp::sum, value);
    }
    for (const Tensor<float>& tensor : value) EXPECT_EQ(values_of(tensor), sum);
}

TEST(MovedFrom, SaysSo) {
    Communicator comm = Communicator::create(options_of(2));
    const Communicator other = std::move(comm);
    EXPECT_EQ(other.size(), 2);
    EXPECT_EQ(error_of<InvalidArgument>([&] { comm.size(); }), "this communicator was moved from");
}

// ---- streams and captures

TEST(BadStreams, AreRefusedAndTheCommunicatorGoesOn) {
    Communicator comm = Communicator::create(options_of(2));
    const PerReplica<float> value = ramp(2, 100);
    std::vector<cudaStream_t> streams(2);
    for (int rank = 0; rank < 2; ++rank) {
        expect_success(cudaSetDevice(rank));
        expect_success(cudaStreamCreateWithFlags(&streams[static_cast<std::size_t>(rank)],
                                                 cudaStreamNonBlocking));
    }
    const std::vector<cudaStream_t> swapped{streams[1], streams[0]};
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.all_reduce(ReduceOp::sum, value, {.streams = swapped});
              }).find("the stream of rank 0: the stream belongs to device 1"),
              std::string::npos);
    expect_success(cudaStreamDestroy(streams[1]));
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.all_reduce(ReduceOp::sum, value, {.streams = streams});
              }).find("the stream of rank 1"),
              std::string::npos);
    EXPECT_THROW(comm.rank(1).send(value[1].data(), 1, 0, {.streams = {&streams[1], 1}}),
                 InvalidArgument);
    expect_success(cudaStreamDestroy(streams[0]));
    expect_usable(comm);
}

TEST(Captures, OfOtherThreadsAreLeftAlone) {
    Communicator comm = Communicator::create(options_of(2));
    const PerReplica<float> value = ramp(2, 100);
    comm.all_reduce(ReduceOp::max, value).wait();
    expect_success(cudaSetDevice(0));
    cudaStream_t stream = nullptr;
    expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    std::thread([&] {
        std::vector<cudaStream_t> own(2, cudaStreamPerThread);
        Work work = comm.all_reduce(ReduceOp::max, value, {.streams = own});
        work.query();
        work.wait();
    }).join();
    cudaGraph_t graph = nullptr;
    expect_success(cudaStreamEndCapture(stream, &graph));
    expect_success(cudaGraphDestroy(graph));
    expect_success(cudaStreamDestroy(stream));
    expect_usable(comm);
}

TEST(Captures, OfSomeStreamsOnlyAreRefused) {
    Communicator comm = Communicator::create(options_of(2));
    const PerReplica<float> value = ramp(2, 100);
    std::vector<cudaStream_t> streams(2);
    for (int rank = 0; rank < 2; ++rank) {
        expect_success(cudaSetDevice(rank));
        expect_success(cudaStreamCreateWithFlags(&streams[static_cast<std::size_t>(rank)],
                                                 cudaStreamNonBlocking));
    }
    expect_success(cudaStreamBeginCapture(streams[1], cudaStreamCaptureModeRelaxed));
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.all_reduce(ReduceOp::max, value, {.streams = streams});
              }).find("all or none must be"),
              std::string::npos);
    cudaGraph_t graph = nullptr;
    expect_success(cudaStreamEndCapture(streams[1], &graph));
    expect_success(cudaGraphDestroy(graph));
    for (cudaStream_t stream : streams) expect_success(cudaStreamDestroy(stream));
    expect_usable(comm);
}

// ---- sizes and numbers

TEST(Sizes, BeyondTheAllocationAreRefused) {
    Communicator comm = Communicator::create(options_of(2));
    const PerReplica<float> value = ramp(2, 100);
    for (const std::size_t count : {std::size_t{101}, std::size_t{1} << 40}) {
        EXPECT_NE(error_of<InvalidArgument>([&] {
                      comm.rank(0).all_reduce(ReduceOp::sum, value[0].data(), value[0].data(),
                                              count);
                  }).find("its allocation ends 400 bytes from there"),
                  std::string::npos);
    }
    expect_usable(comm);
}

TEST(Sizes, OfExplanationsMayBeAnything) {
    Communicator comm = Communicator::create(options_of(4));
    const Explanation large =
        comm.explain(Collective::all_reduce, ElementType::u8, std::uint64_t{1} << 62);
    EXPECT_GT(large.seconds, 1e6);
    EXPECT_THROW(comm.explain(Collective::all_reduce, ElementType::f32, std::uint64_t{1} << 62),
                 InvalidArgument);
}

TEST(Packs, BeyondTheElementsCostNothing) {
    Communicator comm = Communicator::create(options_of(8));
    const PerReplica<float> value = ramp(8, 10);
    const std::vector<float> sum = sum_of(value);
    comm.all_reduce(ReduceOp::sum, value, {.strategy = Strategy::hierarchical_copy(1 << 20)})
        .wait();
    for (const Tensor<float>& tensor : value) EXPECT_EQ(values_of(tensor), sum);
    const PerReplica<float> large = ramp(8, 2'000'000);
    EXPECT_THROW(
        comm.all_reduce(ReduceOp::sum, large, {.strategy = Strategy::hierarchical_copy(1 << 20)}),
        Unsupported);
    expect_usable(comm);
}

TEST(Factors, OfIntegersAreWhole) {
    Communicator comm = Communicator::create(options_of(2));
    std::vector<Tensor<std::int32_t>> tensors;
    for (int rank = 0; rank < 2; ++rank) {
        tensors.push_back(Tensor<std::int32_t>::allocate(rank, 10));
    }
    const PerReplica<std::int32_t> value(tensors);
    const std::vector<double> factors{2, 1.5};
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.all_reduce(ReduceOp::premul_sum, value, {.factors = factors});
              }).find("the factor of rank 1 is 1.5, which i32 can't hold"),
              std::string::npos);
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.all_reduce(ReduceOp::premul_sum, value);
              }).find("premul_sum needs CallOptions::factors"),
              std::string::npos);
    expect_usable(comm);
}

TEST(Ranks, AreAtMost128) {
    std::vector<int> devices(129);
    std::iota(devices.begin(), devices.end(), 0);
    EXPECT_EQ(error_of<InvalidArgument>([&] { Communicator::create({.devices = devices}); }),
              "129 devices were named; a communicator has 128 ranks at most");
}

TEST(Scratch, IsAsLargeAsWasAskedFor) {
    CommunicatorOptions options = options_of(2);
    options.scratch_bytes = 1000;
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  Communicator::create(options);
              }).find("scratch_bytes is 1000"),
              std::string::npos);
    options.scratch_bytes = 1 << 20;
    const std::uint64_t before = vgpu::live_memory(0).bytes;
    Communicator comm = Communicator::create(options);
    EXPECT_LT(vgpu::live_memory(0).bytes - before, std::uint64_t{4} << 20);
    const PerReplica<float> value = ramp(2, 1'000'000);
    const std::vector<float> sum = sum_of(value);
    comm.all_reduce(ReduceOp::sum, value, {.strategy = Strategy::ring()}).wait();
    EXPECT_EQ(values_of(value[1]), sum);
    options.tuning = {.replicas = 32, .slot_bytes = 1 << 20};
    Communicator large = Communicator::create(options);
    EXPECT_THROW(large.all_reduce(ReduceOp::sum, value, {.strategy = Strategy::ring()}),
                 InvalidArgument);
    expect_usable(large);
}

// ---- what compiles

TEST(Interface, DeducesElementTypes) {
    Communicator comm = Communicator::create(options_of(2));
    const PerReplica<float> in = ramp(2, 10);
    std::vector<Tensor<float>> tensors;
    for (int rank = 0; rank < 2; ++rank) tensors.push_back(Tensor<float>::allocate(rank, 10));
    const PerReplica<float> out(tensors);
    comm.all_reduce(ReduceOp::sum, in, out).wait();
    EXPECT_EQ(values_of(out[0]), sum_of(in));
    Work first = comm.rank(0).reduce(ReduceOp::sum, in[0].data(), out[0].data(), 10, 0);
    comm.rank(1).reduce(ReduceOp::sum, in[1].data(), nullptr, 10, 0).wait();
    first.wait();
    Work root = comm.rank(0).broadcast(in[0].data(), out[0].data(), 10, 0);
    comm.rank(1).broadcast(nullptr, out[1].data(), 10, 0).wait();
    root.wait();
    EXPECT_EQ(values_of(out[1]), values_of(in[0]));
    static_assert(element_type_of<long long> == ElementType::i64);
    static_assert(element_type_of<unsigned long long> == ElementType::u64);
    std::ostringstream text;
    text << Strategy::tree(3);
    EXPECT_EQ(text.str(), "tree(3)");
}

}  // namespace
}  // namespace rondo::test
