// Sends and receives side by side: what would wait for ever one after the other.
#include <numeric>

#include "tests/communicator/fixture.hpp"

namespace rondo::test {
namespace {

std::vector<float> message(int from, int to, std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), static_cast<float>(1000 * from + 100 * to));
    return values;
}

class Exchange : public testing::TestWithParam<int> {
protected:
    int ranks() const { return GetParam(); }
};

TEST_P(Exchange, ShiftAroundARingOnOneStreamEach) {
    Communicator comm = Communicator::create(options_of(ranks()));
    for (const std::size_t count : {0, 1, 1000, 300'000}) {
        const PerReplica<float> value = ramp(ranks(), count);
        std::vector<Tensor<float>> received;
        std::vector<Work> works;
        for (int rank = 0; rank < ranks(); ++rank) {
            received.push_back(tensor_on(rank, std::vector<float>(count)));
        }
        for (int rank = 0; rank < ranks(); ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            const Transfer both[]{
                send_to((rank + 1) % ranks(), value[r].data(), count),
                receive_from((rank + ranks() - 1) % ranks(), received[r].data(), count)};
            works.push_back(comm.rank(rank).exchange(both));
        }
        for (Work& work : works) work.wait();
        for (int rank = 0; rank < ranks(); ++rank) {
            const auto before = static_cast<std::size_t>((rank + ranks() - 1) % ranks());
            EXPECT_EQ(values_of(received[static_cast<std::size_t>(rank)]),
                      values_of(value[before]));
        }
    }
}

/// With more transfers than blocks where there are many ranks, and messages of different lengths.
TEST_P(Exchange, AllToAllByHand) {
    Communicator comm = Communicator::create(options_of(ranks()));
    const auto count_of = [](int from, int to) {
        return static_cast<std::size_t>(17 * from + 5 * to) % 97;
    };
    for (int round = 0; round < 3; ++round) {
        std::vector<std::vector<Tensor<float>>> sent, received;  // [rank][peer]
        for (int rank = 0; rank < ranks(); ++rank) {
            sent.emplace_back();
            received.emplace_back();
            for (int peer = 0; peer < ranks(); ++peer) {
                sent.back().push_back(tensor_on(rank, message(rank, peer, count_of(rank, peer))));
                received.back().push_back(
                    tensor_on(rank, std::vector<float>(count_of(peer, rank))));
            }
        }
        std::vector<Work> works;
        for (int rank = 0; rank < ranks(); ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            std::vector<Transfer> transfers;
            for (int peer = 0; peer < ranks(); ++peer) {
                if (peer == rank) continue;
                const auto p = static_cast<std::size_t>(peer);
                transfers.push_back(send_to(peer, sent[r][p].data(), sent[r][p].size()));
                transfers.push_back(
                    receive_from(peer, received[r][p].data(), received[r][p].size()));
            }
            works.push_back(comm.rank(rank).exchange(transfers));
        }
        for (Work& work : works) work.wait();
        for (int rank = 0; rank < ranks(); ++rank) {
            for (int peer = 0; peer < ranks(); ++peer) {
                if (peer == rank) continue;
                EXPECT_EQ(
                    values_of(
                        received[static_cast<std::size_t>(rank)][static_cast<std::size_t>(peer)]),
                    message(peer, rank, count_of(peer, rank)));
            }
        }
    }
}

/// What goes from one rank to another arrives in the order of the calls, however it is grouped.
TEST_P(Exchange, SeveralBetweenTheSameTwo) {
    if (ranks() < 2) GTEST_SKIP() << "needs two ranks";
    Communicator comm = Communicator::create(options_of(ranks()));
    const Tensor<float> first = tensor_on(0, {1, 2, 3});
    const Tensor<float> second = tensor_on(0, {4, 5});
    const Tensor<float> back = tensor_on(1, {6});
    const Tensor<float> got_first = tensor_on(1, std::vector<float>(3));
    const Tensor<float> got_second = tensor_on(1, std::vector<float>(2));
    const Tensor<float> got_back = tensor_on(0, std::vector<float>(1));
    const Transfer together[]{send_to(1, first.data(), 3), send_to(1, second.data(), 2),
                              receive_from(1, got_back.data(), 1)};
    Work work = comm.rank(0).exchange(together);
    std::vector<Work> works;
    works.push_back(comm.rank(1).receive(got_first.data(), 3, 0));
    const Transfer rest[]{receive_from(0, got_second.data(), 2), send_to(0, back.data(), 1)};
    works.push_back(comm.rank(1).exchange(rest));
    work.wait();
    for (Work& it : works) it.wait();
    EXPECT_EQ(values_of(got_first), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(values_of(got_second), (std::vector<float>{4, 5}));
    EXPECT_EQ(values_of(got_back), (std::vector<float>{6}));
}

TEST_P(Exchange, MixesWithCollectives) {
    Communicator comm = Communicator::create(options_of(ranks()));
    const PerReplica<float> value = ramp(ranks(), 1000);
    std::vector<float> sum = sum_of(value);
    for (int round = 0; round < 5; ++round) {
        comm.all_reduce(ReduceOp::max, value);
        for (int rank = 0; rank + 1 < ranks(); rank += 2) {
            const auto r = static_cast<std::size_t>(rank);
            comm.rank(rank).send(value[r].data(), 1000, rank + 1);
            comm.rank(rank + 1).receive(value[r + 1].data(), 1000, rank);
        }
    }
    comm.barrier().wait();
    const std::vector<float> largest = values_of(value[0]);
    for (const Tensor<float>& tensor : value) EXPECT_EQ(values_of(tensor), largest);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Exchange, testing::Values(2, 3, 5, 8));

TEST(BadExchanges, AreNamedAndChangeNothing) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 10);
    const auto message_of = [&](std::vector<Transfer> transfers) {
        return error_of<InvalidArgument>([&] { comm.rank(0).exchange(transfers); });
    };
    EXPECT_NE(message_of({send_to(0, value[0].data(), 1)}).find("can not send to itself"),
              std::string::npos);
    EXPECT_NE(message_of({send_to(3, value[0].data(), 1)}).find("the receiving rank is 3"),
              std::string::npos);
    EXPECT_NE(message_of({receive_from(-1, value[0].data(), 1)}).find("the sending rank is -1"),
              std::string::npos);
    std::int32_t* const integers = reinterpret_cast<std::int32_t*>(value[0].data());
    EXPECT_NE(message_of({send_to(1, value[0].data(), 1), receive_from(2, integers, 1)})
                  .find("one element type, not f32 and i32"),
              std::string::npos);
    EXPECT_NE(message_of({send_to(1, value[0].data(), 11)}).find("its allocation ends"),
              std::string::npos);
    EXPECT_EQ(comm.status(), nullptr);
    comm.rank(0).exchange({}).wait();
    comm.all_reduce(ReduceOp::sum, value).wait();
}

}  // namespace
}  // namespace rondo::test
