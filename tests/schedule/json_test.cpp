// Schedules as values: JSON both ways, comparison, printed form, clear errors.
#include <gtest/gtest.h>

#include "schedule/builder.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo::test {
namespace {

TEST(ScheduleJson, RoundTripKeepsEverything) {
    const MachineView machine(4);
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : sample_strategies()) {
            if (strategy == Strategy::reduction_to_one_device(9)) continue;
            const auto schedule = try_build(
                {.machine = machine, .collective = collective, .root = 2, .strategy = strategy});
            if (!schedule) continue;
            EXPECT_EQ(schedule_from_json(to_json(*schedule)), *schedule) << to_string(*schedule);
        }
    }
    Schedule chunked = simple(Strategy::direct(2), 4);
    EXPECT_EQ(schedule_from_json(to_json(chunked)), chunked);
    chunked.chunked = false;
    EXPECT_EQ(to_json(chunked).find("chunked"), std::string::npos);
    EXPECT_EQ(schedule_from_json(to_json(chunked)), chunked);
}

std::string error_of(const std::string& text) {
    try {
        schedule_from_json(text);
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "no error";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

TEST(ScheduleJson, WrongTextIsNamed) {
    const std::string good = to_json(simple(Strategy::ring(), 3));
    const std::vector<std::array<std::string, 3>> table{
        {"rondo-schedule-2", "rondo-schedule-9", "rondo-schedule-9"},
        {"\"all_reduce\"", "\"all_reducee\"", "all_reducee"},
        {"\"ranks\": 3", "\"ranks\": 0", "ranks is 0"},
        {"\"ranks\": 3", "\"ranks\": -3", "-3"},
        {"\"ranks\": 3", "\"ranks\": 3, \"extra\": 1", "extra"},
        {"\"input 0\"", "\"inptu 0\"", "inptu 0"},
        {"\"input 0\"", "\"input 9\"", "rank 9 does not exist"},
        {"\"channel 0\"", "\"channel 77\"", "channel 77 does not exist"},
        {"\"depth\": 2", "\"depth\": 3", "depth 3"},
        {"\"unit\": 0", "\"unit\": 12", "unit 12 does not exist"},
        {"\"rank\": 2", "\"rank\": 1", "rank 2 has no lane"},
        {"{", "[", "not valid JSON"}};
    for (const auto& [what, by, expected] : table) {
        EXPECT_NE(error_of(replaced(good, what, by)).find(expected), std::string::npos)
            << what << " -> " << by << ": " << error_of(replaced(good, what, by));
    }
}

/// Each of two ranks brings one unit per rank, by hand.
Schedule exchange() {
    Schedule schedule{.name = "exchange",
                      .collective = Collective::all_to_all,
                      .ranks = 2,
                      .destinations = {0, 1},
                      .unit_shares = {1, 1, 1, 1},
                      .unit_owners = {0, 0, 1, 1},
                      .unit_receivers = {0, 1, 0, 1}};
    schedule.events = {{.from_lane = 0, .to_lane = 1}, {.from_lane = 1, .to_lane = 0}};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        Lane lane{.rank = rank};
        for (std::uint32_t to = 0; to < 2; ++to) {
            lane.steps.push_back({.unit = 2 * rank + to,
                                  .sources = {input_of(rank)},
                                  .destinations = {output_of(to)}});
        }
        lane.steps.back().signals = {rank};
        lane.steps.push_back({.unit = 0, .waits = {1 - rank}});
        schedule.lanes.push_back(std::move(lane));
    }
    return schedule;
}

TEST(ScheduleJson, PairsKeepTheirReceivers) {
    const Schedule schedule = exchange();
    EXPECT_EQ(verify(schedule).problem, "");
    EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
    EXPECT_NE(to_string(schedule).find("unit 1: from rank 0 to rank 1"), std::string::npos);
    EXPECT_EQ(part_count(schedule), 4u);
    EXPECT_EQ(part_of(schedule, 2), 2u);
}

/// What no call could fit, or what a call would silently do nothing of.
TEST(Validate, PartsMustBeComplete) {
    const auto error_when = [](auto damage) -> std::string {
        Schedule schedule = exchange();
        damage(schedule);
        try {
            validate(schedule);
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "no error";
    };
    using S = Schedule;
    const std::vector<std::pair<std::string, std::string>> table{
        {error_when([](S&) {}), "no error"},
        {error_when([](S& it) {
             it.unit_shares = {1, 1, 0, 1};
         }),
         "schedule: unit_shares of rank 1 to rank 0 add up to 0"},
        {error_when([](S& it) {
             it.unit_receivers = {0, 0, 0, 1};
         }),
         "schedule: rank 0 to rank 1 has no unit"},
        {error_when([](S& it) {
             it.unit_receivers = {1, 0, 0, 1};
         }),
         "schedule: rank 0 to rank 0 has no unit"},
        {error_when([](S& it) {
             it.unit_receivers = {0, 1, 1, 0};
         }),
         "schedule: rank 1 to rank 0 has no unit"},
        {error_when([](S& it) {
             it.unit_receivers = {0, 1, 0, 7};
         }),
         "schedule: unit_receivers: rank 7 does not exist, there are 2 ranks"},
        {error_when([](S& it) {
             it.unit_owners = {0, 0, 0, 1};
         }),
         "schedule: unit 2, of rank 0 to rank 0, comes too late: units are sorted by owner, then "
         "receiver"},
        {error_when([](S& it) { it.unit_receivers.clear(); }),
         "schedule: unit_receivers has 0 elements for 4 units of all_to_all"},
        {error_when([](S& it) { it.collective = Collective::all_gather; }),
         "schedule: unit_receivers has 4 elements for 4 units of all_gather"},
        {error_when([](S& it) { it.root = 1; }), "schedule: root is 1, but all_to_all has none"},
        {error_when([](S& it) { it.destinations = {0}; }),
         "schedule: all_to_all has 1 destinations of 2 ranks; it must have all"},
        {error_when([](S& it) { it.collective = Collective::gather; }),
         "schedule: gather has the destinations [0, 1]; it must have the root only, rank 0"}};
    for (const auto& [error, expected] : table) EXPECT_EQ(error, expected);
    Schedule reduce = simple(Strategy::ring(), 2, Collective::reduce);
    reduce.destinations = {1};
    EXPECT_THROW(validate(reduce), InvalidArgument);
    reduce = simple(Strategy::ring(), 2, Collective::reduce);
    reduce.unit_shares.assign(reduce.unit_shares.size(), 0);
    EXPECT_THROW(validate(reduce), InvalidArgument);
}

TEST(ScheduleText, NamesEveryStep) {
    const std::string text = to_string(simple(Strategy::centralized(), 2));
    EXPECT_NE(text.find("rank 1, lane 0"), std::string::npos) << text;
    EXPECT_NE(text.find("-> output 0, output 1 (finished)"), std::string::npos) << text;
}

TEST(Build, SaysWhatDoesNotApply) {
    EXPECT_THROW(simple(Strategy::direct(1), 2, Collective::broadcast), Unsupported);
    EXPECT_THROW(simple(Strategy::automatic(), 2), InvalidArgument);
    EXPECT_THROW(simple(Strategy::ring(), 0), InvalidArgument);
    EXPECT_THROW(simple(Strategy::ring(), 2, Collective::all_reduce, 3), InvalidArgument);
    const MachineView machine(2);
    EXPECT_THROW(build({.machine = machine, .root = 2, .strategy = Strategy::ring()}),
                 InvalidArgument);
}

}  // namespace
}  // namespace rondo::test
