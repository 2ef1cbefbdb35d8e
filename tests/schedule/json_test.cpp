// Schedules and strategies as values: JSON both ways, comparison, printed form, clear errors.
#include <gtest/gtest.h>

#include "tests/schedule/problems.hpp"

namespace rondo::test {
namespace {

TEST(ScheduleJson, RoundTripKeepsEverything) {
    for (const Collective collective : all_collectives) {
        for (const Strategy& strategy : all_strategies(4)) {
            if (!applies(strategy, collective)) continue;
            const Schedule schedule =
                build(strategy, {.collective = collective, .ranks = 4, .root = 2, .lanes = 2});
            EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule) << to_string(schedule);
        }
    }
    Schedule chunked = build(Strategy::direct(2), {.ranks = 4});
    EXPECT_EQ(to_json(chunked).find("chunked"), std::string::npos);
    chunked.chunked = true;
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
    const std::string good =
        to_json(build(Strategy::ring(), {.collective = Collective::all_reduce, .ranks = 3}));
    const std::vector<std::array<std::string, 3>> table{
        {"rondo-schedule-1", "rondo-schedule-9", "rondo-schedule-9"},
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

TEST(ScheduleText, NamesEveryStep) {
    const std::string text = to_string(build(Strategy::centralized(), {.ranks = 2}));
    EXPECT_NE(text.find("rank 1, lane 0"), std::string::npos) << text;
    EXPECT_NE(text.find("-> output 0, output 1 (finished)"), std::string::npos) << text;
}

TEST(StrategyValue, PrintsComparesAndGoesThroughJson) {
    const std::vector<Strategy> all{Strategy::automatic(),
                                    Strategy::centralized(),
                                    Strategy::tree(2),
                                    Strategy::tree(7),
                                    Strategy::ring(),
                                    Strategy::hierarchical_copy(8),
                                    Strategy::reduction_to_one_device(3),
                                    Strategy::direct(),
                                    Strategy::direct(1),
                                    Strategy::direct(2)};
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(parse_strategy(to_string(all[i])), all[i]);
        EXPECT_EQ(strategy_from_json(to_json(all[i])), all[i]);
        for (std::size_t j = 0; j < all.size(); ++j) EXPECT_EQ(all[i] == all[j], i == j);
    }
    EXPECT_EQ(to_string(Strategy::tree(2)), "tree(2)");
    EXPECT_EQ(to_json(Strategy::tree(2)), R"({"strategy":"tree","arity":2})");
    EXPECT_EQ(all_reduce_strategy_from_json(to_json(AllReduceStrategy::tree(3))),
              AllReduceStrategy::tree(3));
}

TEST(StrategyValue, BadValuesAreClearErrors) {
    const auto message = [](auto make) -> std::string {
        try {
            make();
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message([] { Strategy::tree(0); }),
              "the arity of tree is 0; it must be 1 to 2147483647");
    EXPECT_EQ(message([] { Strategy::hierarchical_copy(0); }),
              "num_packs of hierarchical_copy is 0; it must be 1 to 1048576");
    EXPECT_EQ(message([] { Strategy::hierarchical_copy(-1); }),
              "num_packs of hierarchical_copy is -1; it must be 1 to 1048576");
    EXPECT_EQ(message([] { Strategy::reduction_to_one_device(-2); }),
              "the device of reduction_to_one_device is -2; it must be 0 to 2147483647");
    EXPECT_EQ(message([] { Strategy::direct(3); }), "the shots of direct is 3; it must be 0 to 2");
    EXPECT_NE(message([] { parse_strategy("rign"); }).find("unknown strategy 'rign'"),
              std::string::npos);
    EXPECT_NE(message([] { parse_strategy("tree"); }).find("tree(arity)"), std::string::npos);
    EXPECT_NE(message([] { parse_strategy("tree(2"); }).find("'tree(2'"), std::string::npos);
    EXPECT_NE(message([] { strategy_from_json(R"({"strategy":"tree"})"); }).find("arity"),
              std::string::npos);
    EXPECT_NE(message([] { strategy_from_json(R"({"strategy":"ring","arity":2})"); }).find("arity"),
              std::string::npos);
    EXPECT_NE(message([] { AllReduceStrategy::from(Strategy::direct()); }).find("direct"),
              std::string::npos);
}

TEST(Build, SaysWhatDoesNotApply) {
    EXPECT_THROW(build(Strategy::direct(1), {.collective = Collective::broadcast, .ranks = 2}),
                 Unsupported);
    EXPECT_THROW(build(Strategy::automatic(), {.ranks = 2}), InvalidArgument);
    EXPECT_THROW(build(Strategy::ring(), {.ranks = 0}), InvalidArgument);
    EXPECT_THROW(build(Strategy::ring(), {.ranks = 2, .root = 2}), InvalidArgument);
    EXPECT_THROW(build(Strategy::ring(), {.ranks = 2, .order = {0, 0}}), InvalidArgument);
    EXPECT_THROW(build(Strategy::ring(), {.ranks = 2, .depth = 3}), InvalidArgument);
    EXPECT_THROW(build(Strategy::ring(), {.ranks = 2, .lanes = 33}), InvalidArgument);
}

}  // namespace
}  // namespace rondo::test
