// Bad calls: each gives its message, writes nothing and leaves the communicator usable.
#include <functional>

#include "tests/communicator/fixture.hpp"

namespace rondo::test {
namespace {

TEST(BadCalls, EachHasItsMessageAndChangesNothing) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 100);
    float* const data = value[1].data();
    float host = 0;
    const RankHandle rank = comm.rank(1);
    const std::vector<cudaStream_t> two_streams(2);
    const std::vector<double> factors(3, 2.0);
    const std::vector<std::uint64_t> two_counts(2, 1);
    const double huge_factor = 1e6;
    auto* const bytes = reinterpret_cast<std::int8_t*>(data);
    struct Row {
        std::function<void()> call;
        std::string message;
    };
    const std::vector<Row> table{
        {[&] { comm.rank(3); }, "rank is 3; there are 3 ranks"},
        {[&] { comm.rank(-1); }, "rank is -1; there are 3 ranks"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, nullptr, data, 10); },
         "the input of rank 1 is null"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, data, nullptr, 10); },
         "the output of rank 1 is null"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, &host, data, 1); },
         "is no memory that a GPU can reach"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, value[0].data(), data, 10); },
         "the input of rank 1 lies on device 0, the rank is on 1"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, data, data + 5, 10); },
         "overlap without being in place"},
        {[&] {
             rank.all_reduce<double>(ReduceOp::sum, reinterpret_cast<double*>(data + 1),
                                     reinterpret_cast<double*>(data + 1), 4);
         },
         "is not aligned to its elements of 8 bytes"},
        {[&] { rank.broadcast<float>(data, data, 10, 3); }, "root is 3; there are 3 ranks"},
        {[&] { rank.reduce<float>(ReduceOp::sum, data, data, 10, -1); },
         "root is -1; there are 3 ranks"},
        {[&] { rank.all_reduce<float>(static_cast<ReduceOp>(77), data, data, 10); },
         "there is no operator with the number 77"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, data, data, std::size_t{1} << 61); },
         "are more than memory can hold"},
        {[&] {
             rank.all_reduce<float>(ReduceOp::sum, data, data, std::size_t{1} << 55,
                                    {.strategy = Strategy::tree(2)});
         },
         "but its allocation ends 400 bytes from there"},
        {[&] { rank.all_gather<float>(data, data, (std::size_t{1} << 63) + 1); },
         "of each of 3 ranks are more than memory can hold"},
        {[&] { rank.all_reduce<float>(ReduceOp::sum, data, data, 10, {.streams = two_streams}); },
         "2 streams were given for 1 ranks"},
        {[&] { rank.all_gather<float>(data, data, std::span<const std::uint64_t>(two_counts)); },
         "2 counts were given for 3 ranks"},
        {[&] {
             rank.all_reduce(ReduceOp::premul_sum, bytes, bytes, 4, {.factors = {&huge_factor, 1}});
         },
         "the factor 1000000 does not fit into an integer of 1 bytes"},
        {[&] { comm.all_reduce(ReduceOp::sum, value, {.factors = factors}); },
         "factors are for premul_sum, the operator is sum"},
        {[&] { comm.all_reduce(ReduceOp::sum, value, {.streams = two_streams}); },
         "2 streams were given for 3 ranks"},
        {[&] {
             comm.all_reduce(ReduceOp::sum, value,
                             {.strategy = Strategy::reduction_to_one_device(5)});
         },
         "device 5 is not in the communicator"},
        {[&] { comm.all_reduce(ReduceOp::sum, value, {.schedule = 1}); },
         "there is no schedule 1; 0 were added"},
        {[&] { comm.all_gather(PerReplica<const float>(value), value); },
         "all_gather: the parts have 300 elements in all, the whole 100"}};
    std::vector<std::vector<float>> before;
    for (const auto& tensor : value) before.push_back(values_of(tensor));
    for (const Row& row : table) {
        const std::string error = error_of<InvalidArgument>(row.call);
        EXPECT_NE(error.find(row.message), std::string::npos)
            << error << "\nwanted: " << row.message;
    }
    EXPECT_THROW(comm.rank(0).broadcast<float>(value[0].data(), value[0].data(), 1, 0,
                                               {.strategy = Strategy::direct(1)}),
                 Unsupported);
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(values_of(value[r]), before[r]);
    EXPECT_EQ(comm.status(), nullptr);
    const std::vector<float> sum = sum_of(value);
    comm.all_reduce(ReduceOp::sum, value).wait();
    EXPECT_EQ(values_of(value[2]), sum);
}

TEST(BadCommunicators, AreNamed) {
    const auto message = [](CommunicatorOptions options) {
        return error_of<InvalidArgument>([&] { Communicator::create(options); });
    };
    EXPECT_NE(message({.devices = {0, 99}}).find("device 99 does not exist"), std::string::npos);
    EXPECT_NE(message({.devices = {0, -1}}).find("device -1 does not exist"), std::string::npos);
    EXPECT_EQ(message({.devices = {1, 0, 1}}), "device 1 is named twice");
    EXPECT_NE(message({.timeout = std::chrono::seconds(-1)}).find("must not be negative"),
              std::string::npos);
    EXPECT_NE(message({.tuning = {.replicas = 65}}).find("tuning.replicas is 65"),
              std::string::npos);
    EXPECT_NE(message({.tuning = {.depth = 3}}).find("tuning.depth is 3"), std::string::npos);
    EXPECT_NE(message({.tuning = {.slot_bytes = 100}}).find("tuning.slot_bytes is 100"),
              std::string::npos);
}

TEST(OwnSchedule, IsProvedBeforeItRuns) {
    Communicator comm = Communicator::create(options_of(3));
    const PerReplica<float> value = ramp(3, 1000);
    const std::vector<float> sum = sum_of(value);
    Schedule schedule = comm.schedule_for(Collective::all_reduce, ElementType::f32, ReduceOp::sum,
                                          1000, {.strategy = Strategy::tree(1)});
    const std::uint32_t number = comm.add_schedule(schedule_from_json(to_json(schedule)));
    comm.all_reduce(ReduceOp::sum, value, {.schedule = number}).wait();
    EXPECT_EQ(values_of(value[0]), sum);
    schedule.lanes[0].steps[0].finishes = !schedule.lanes[0].steps[0].finishes;
    EXPECT_NE(error_of<InvalidArgument>([&] { comm.add_schedule(schedule); }).find("is wrong: "),
              std::string::npos);
    EXPECT_NE(error_of<InvalidArgument>([&] {
                  comm.rank(0).broadcast(value[0].data(), value[0].data(), 10, 0,
                                         {.schedule = number});
              }).find("is for all_reduce"),
              std::string::npos);
}

}  // namespace
}  // namespace rondo::test
