// One thread per GPU, several communicators, streams, and ranks that do not do the same.
#include <atomic>
#include <thread>

#include "tests/communicator/fixture.hpp"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

/// Runs body(rank) on a thread per rank and gives back what each threw.
template <class Body>
std::vector<std::string> run_threads(int ranks, Body body) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                body(rank);
            } catch (const std::exception& error) {
                errors[static_cast<std::size_t>(rank)] = error.what();
            }
        });
    }
    threads.clear();
    return errors;
}

TEST(Ranks, OneThreadEachManyCalls) {
    Communicator comm = Communicator::create(options_of(4));
    const PerReplica<float> value = ramp(4, 5000);
    const std::vector<float> sum = sum_of(value);
    std::vector<Tensor<float>> outputs;
    for (int rank = 0; rank < 4; ++rank) outputs.push_back(Tensor<float>::allocate(rank, 5000));
    const auto errors = run_threads(4, [&](int rank) {
        const RankHandle handle = comm.rank(rank);
        const auto r = static_cast<std::size_t>(rank);
        for (int call = 0; call < 50; ++call) {
            const CallOptions options{.strategy =
                                          call % 2 == 0 ? Strategy::ring() : Strategy::tree(2)};
            Work work = handle.all_reduce(ReduceOp::sum, value[r].data(), outputs[r].data(),
                                          value[r].size(), options);
            if (call % 7 == 0) work.wait();
        }
        handle.all_reduce(ReduceOp::sum, value[r].data(), outputs[r].data(), value[r].size())
            .wait();
    });
    EXPECT_EQ(errors, std::vector<std::string>(4));
    for (const auto& output : outputs) EXPECT_EQ(values_of(output), sum);
}

TEST(Ranks, MismatchGivesAllTheSameErrorAndWritesNothing) {
    struct Row {
        std::string name;
        std::function<Work(const RankHandle&, float*, bool odd)> call;
        std::vector<std::string> words;
    };
    const std::vector<Row> table{
        {"count",
         [](const RankHandle& rank, float* data, bool odd) {
             return rank.all_reduce(ReduceOp::sum, data, data, odd ? 90 : 100);
         },
         {"ranks 0, 1, 3: all_reduce of 100 x f32, sum", "rank 2: all_reduce of 90 x f32, sum"}},
        {"operator",
         [](const RankHandle& rank, float* data, bool odd) {
             return rank.all_reduce(odd ? ReduceOp::max : ReduceOp::sum, data, data, 100);
         },
         {"sum", "rank 2: all_reduce of 100 x f32, max"}},
        {"type",
         [](const RankHandle& rank, float* data, bool odd) {
             return odd ? rank.all_reduce(ReduceOp::sum, reinterpret_cast<std::int32_t*>(data),
                                          reinterpret_cast<std::int32_t*>(data), 100)
                        : rank.all_reduce(ReduceOp::sum, data, data, 100);
         },
         {"f32", "rank 2: all_reduce of 100 x i32, sum"}},
        {"collective",
         [](const RankHandle& rank, float* data, bool odd) {
             return odd ? rank.broadcast(data, data, 100, 0)
                        : rank.all_reduce(ReduceOp::sum, data, data, 100);
         },
         {"all_reduce", "rank 2: broadcast of 100 x f32, root 0"}},
        {"root",
         [](const RankHandle& rank, float* data, bool odd) {
             return rank.broadcast(data, data, 100, odd ? 1 : 0);
         },
         {"root 0", "rank 2: broadcast of 100 x f32, root 1"}},
        {"strategy",
         [](const RankHandle& rank, float* data, bool odd) {
             return rank.all_reduce(ReduceOp::sum, data, data, 100,
                                    {.strategy = odd ? Strategy::ring() : Strategy::tree(2)});
         },
         {"rank 2: all_reduce of 100 x f32, sum, by ring", "ranks 0, 1, 3: ", "by tree(2)"}}};
    for (const Row& row : table) {
        Communicator comm = Communicator::create(options_of(4));
        const PerReplica<float> value = ramp(4, 100);
        std::vector<std::vector<float>> before;
        for (const auto& tensor : value) before.push_back(values_of(tensor));
        const auto errors = run_threads(4, [&](int rank) {
            row.call(comm.rank(rank), value[static_cast<std::size_t>(rank)].data(), rank == 2)
                .wait();
        });
        for (const std::string& error : errors) EXPECT_EQ(error, errors[0]) << row.name;
        for (const std::string& word : row.words) {
            EXPECT_NE(errors[0].find(word), std::string::npos) << row.name << ": " << errors[0];
        }
        for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(values_of(value[r]), before[r]) << row.name;
        const std::string later =
            error_of<AbortedError>([&] { comm.all_reduce(ReduceOp::sum, value); });
        EXPECT_NE(later.find("unusable"), std::string::npos) << later;
        EXPECT_NE(later.find("different things"), std::string::npos) << later;
        Communicator fresh = Communicator::create(options_of(4));
        fresh.all_reduce(ReduceOp::sum, value).wait();
    }
}

TEST(Ranks, OneThatDoesNotComeIsNamed) {
    Communicator comm = Communicator::create(options_of(4, 400ms));
    const PerReplica<float> value = ramp(4, 100);
    const auto begin = std::chrono::steady_clock::now();
    const auto errors = run_threads(4, [&](int rank) {
        if (rank == 2) return;
        float* const data = value[static_cast<std::size_t>(rank)].data();
        comm.rank(rank).all_reduce(ReduceOp::sum, data, data, 100).wait();
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
    for (const int rank : {0, 1, 3}) {
        EXPECT_NE(errors[static_cast<std::size_t>(rank)].find("rank 2 to enter the call"),
                  std::string::npos)
            << errors[static_cast<std::size_t>(rank)];
    }
}

TEST(Ranks, AbortEndsWhatWaits) {
    Communicator comm = Communicator::create(options_of(3, 0ns));
    const PerReplica<float> value = ramp(3, 100);
    Work work = comm.rank(0).all_reduce(ReduceOp::sum, value[0].data(), value[0].data(), 100);
    EXPECT_FALSE(work.query());
    EXPECT_EQ(comm.status(), nullptr);
    std::jthread aborter([&] {
        std::this_thread::sleep_for(20ms);
        comm.abort();
    });
    EXPECT_NE(error_of<AbortedError>([&] { work.wait(); }).find("abort() was called"),
              std::string::npos);
    EXPECT_NE(comm.status(), nullptr);
    EXPECT_NE(work.error(), nullptr);
}

TEST(Ranks, SendAndReceive) {
    for (const int ranks : {2, 4}) {
        Communicator comm = Communicator::create(options_of(ranks));
        const PerReplica<float> value = ramp(ranks, 3000);
        std::vector<Tensor<float>> received;
        for (int rank = 0; rank < ranks; ++rank) {
            received.push_back(tensor_on(rank, std::vector<float>(3000)));
        }
        // Around in a circle, from one thread; a rank sends and receives on streams of their own.
        std::vector<cudaStream_t> streams(static_cast<std::size_t>(2 * ranks));
        for (int i = 0; i < 2 * ranks; ++i) {
            expect_success(cudaSetDevice(i / 2));
            expect_success(cudaStreamCreateWithFlags(&streams[static_cast<std::size_t>(i)],
                                                     cudaStreamNonBlocking));
        }
        std::vector<Work> works;
        for (int round = 0; round < 3; ++round) {
            for (int rank = 0; rank < ranks; ++rank) {
                const auto r = static_cast<std::size_t>(rank);
                const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
                works.push_back(comm.rank(rank).send(value[r].data(), 3000, next,
                                                     {.streams = {&streams[2 * r], 1}}));
                works.push_back(comm.rank(rank).receive(received[r].data(), 3000, before,
                                                        {.streams = {&streams[2 * r + 1], 1}}));
            }
        }
        for (Work& work : works) work.wait();
        for (int rank = 0; rank < ranks; ++rank) {
            const auto before = static_cast<std::size_t>((rank + ranks - 1) % ranks);
            EXPECT_EQ(values_of(received[static_cast<std::size_t>(rank)]),
                      values_of(value[before]));
        }
        for (cudaStream_t stream : streams) expect_success(cudaStreamDestroy(stream));
        EXPECT_NE(error_of<InvalidArgument>([&] {
                      comm.rank(1).send(value[1].data(), 1, 1);
                  }).find("can not send to itself"),
                  std::string::npos);
        EXPECT_NE(error_of<InvalidArgument>([&] {
                      comm.rank(1).receive(received[1].data(), 1, 9);
                  }).find("the sending rank is 9"),
                  std::string::npos);
    }
}

// Ranks 3 and 1 are the first and the second of their pair.
TEST(Ranks, AReceiverThatExpectsAnotherCountIsNamed) {
    Communicator comm = Communicator::create(options_of(4));
    const PerReplica<float> value = ramp(4, 100);
    const std::vector<float> before = values_of(value[1]);
    Work pending = comm.rank(0).all_reduce(ReduceOp::sum, value[0].data(), value[0].data(), 100);
    Work send = comm.rank(3).send(value[3].data(), 100, 1);
    Work receive = comm.rank(1).receive(value[1].data(), 50, 3);
    const std::string error = error_of<MismatchError>([&] { send.wait(); });
    EXPECT_NE(error.find("rank 3: send of 100 x f32; rank 1: receive of 50 x f32"),
              std::string::npos)
        << error;
    EXPECT_EQ(error_of<MismatchError>([&] { receive.wait(); }), error);
    EXPECT_EQ(error_of<MismatchError>([&] { pending.wait(); }), error);  // it waits for nobody more
    EXPECT_EQ(values_of(value[1]), before);
    EXPECT_NE(comm.status(), nullptr);
    const std::string later =
        error_of<AbortedError>([&] { comm.all_reduce(ReduceOp::sum, value); });
    EXPECT_NE(later.find("unusable"), std::string::npos) << later;
    EXPECT_NE(later.find("rank 3: send of 100 x f32"), std::string::npos) << later;
}

TEST(Ranks, AReceiverThatDoesNotComeIsNamedAndEndsTheCommunicator) {
    for (const bool sender_comes : {true, false}) {
        Communicator comm = Communicator::create(options_of(4, 400ms));
        const PerReplica<float> value = ramp(4, 100);
        Work work = sender_comes ? comm.rank(3).send(value[3].data(), 100, 1)
                                 : comm.rank(1).receive(value[1].data(), 100, 3);
        // status() says it, although nobody waits for the work.
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (comm.status() == nullptr && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::yield();
        }
        ASSERT_NE(comm.status(), nullptr);
        const std::string error =
            error_of<TimeoutError>([&] { std::rethrow_exception(comm.status()); });
        const std::string waiting = sender_comes ? "rank 3 (device 3)" : "rank 1 (device 1)";
        const std::string missing = sender_comes ? "rank 1 to receive" : "rank 3 to send";
        EXPECT_NE(error.find(waiting), std::string::npos) << error;
        EXPECT_NE(error.find(missing), std::string::npos) << error;
        EXPECT_EQ(error_of<TimeoutError>([&] { work.wait(); }), error);
        EXPECT_THROW(comm.all_reduce(ReduceOp::sum, value), AbortedError);
        EXPECT_THROW(comm.rank(0).send(value[0].data(), 1, 2), AbortedError);
    }
}

TEST(Ranks, BadBuffersOfAPairAreNamedByTheCommunicatorsRanks) {
    Communicator comm = Communicator::create(options_of(4));
    const PerReplica<float> value = ramp(4, 100);
    EXPECT_EQ(error_of<InvalidArgument>([&] { comm.rank(3).send<float>(nullptr, 100, 1); }),
              "the input of rank 3 is null");
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.rank(3).receive(value[1].data(), 100, 1);
              }).find("the output of rank 3 lies on device 1, the rank is on 3"),
              std::string::npos);
    EXPECT_EQ(comm.status(), nullptr);
}

TEST(Streams, CallsAreOrderedWithWhatIsBeforeAndAfter) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 100000);
    std::vector<cudaStream_t> first(3), second(3);
    for (int rank = 0; rank < 3; ++rank) {
        expect_success(cudaSetDevice(rank));
        for (auto* streams : {&first, &second}) {
            expect_success(cudaStreamCreateWithFlags(&(*streams)[static_cast<std::size_t>(rank)],
                                                     cudaStreamNonBlocking));
        }
    }
    std::vector<float> ones(100000, 1);
    for (std::size_t r = 0; r < 3; ++r) {
        expect_success(cudaMemcpyAsync(value[r].data(), ones.data(), ones.size() * sizeof(float),
                                       cudaMemcpyDefault, first[r]));
    }
    comm.all_reduce(ReduceOp::sum, value, {.streams = first});
    comm.all_reduce(ReduceOp::sum, value, {.streams = second});  // waits for the first by itself
    std::vector<float> result(ones.size());
    expect_success(cudaMemcpyAsync(result.data(), value[1].data(), result.size() * sizeof(float),
                                   cudaMemcpyDefault, second[1]));
    expect_success(cudaStreamSynchronize(second[1]));
    EXPECT_EQ(result, std::vector<float>(ones.size(), 9));
    for (std::size_t r = 0; r < 3; ++r) {
        expect_success(cudaStreamSynchronize(second[r]));
        expect_success(cudaStreamDestroy(first[r]));
        expect_success(cudaStreamDestroy(second[r]));
    }
}

TEST(Communicators, SeveralInSeveralThreads) {
    constexpr int threads = 4;
    std::vector<std::string> errors = run_threads(threads, [&](int thread) {
        CommunicatorOptions options = options_of(4);
        if (thread % 2 == 1) std::reverse(options.devices.begin(), options.devices.end());
        Communicator comm = Communicator::create(options);
        std::vector<Tensor<float>> tensors;
        for (const int device : options.devices) {
            tensors.push_back(tensor_on(device, std::vector<float>(1000, 1)));
        }
        const PerReplica<float> value(tensors);
        std::vector<cudaStream_t> streams(4);
        for (std::size_t r = 0; r < 4; ++r) {
            expect_success(cudaSetDevice(options.devices[r]));
            expect_success(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking));
        }
        for (int call = 0; call < 10; ++call) {
            comm.all_reduce(ReduceOp::mean, value, {.streams = streams});
        }
        comm.all_reduce(ReduceOp::sum, value, {.streams = streams}).wait();
        for (const auto& tensor : value) {
            if (values_of(tensor) != std::vector<float>(1000, 4)) throw Error("a wrong result");
        }
        for (cudaStream_t stream : streams) expect_success(cudaStreamDestroy(stream));
    });
    EXPECT_EQ(errors, std::vector<std::string>(threads));
}

}  // namespace
}  // namespace rondo::test
