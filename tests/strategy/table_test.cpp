// The table of strategies: names, numbers, text, JSON.
#include <gtest/gtest.h>

#include <sstream>

#include "strategy/strategy_entry.hpp"

namespace rondo::test {
namespace {

template <class Call>
std::string message(Call call) {
    try {
        call();
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "no error";
}

/// Made before main() begins: entries are constants.
const Strategy early = Strategy::tree(3);

TEST(StrategyTable, EveryEntryPrintsAndParses) {
    for (const Strategy& strategy : sample_strategies()) {
        EXPECT_EQ(parse_strategy(to_string(strategy)), strategy);
        EXPECT_EQ(strategy_from_json(to_json(strategy)), strategy);
        std::ostringstream stream;
        stream << strategy;
        EXPECT_EQ(stream.str(), to_string(strategy));
        EXPECT_FALSE(strategy.is_automatic());
    }
    EXPECT_EQ(to_string(early), "tree(3)");
    EXPECT_EQ(parse_strategy("automatic"), Strategy());
    EXPECT_EQ(to_string(Strategy::direct()), "direct");
    EXPECT_EQ(to_string(Strategy::direct(2)), "direct(2)");
    EXPECT_EQ(strategy_from_json(R"({"strategy":"direct"})"), Strategy::direct());
}

TEST(StrategyTable, EveryNamedConstructorHasItsEntry) {
    EXPECT_EQ(Strategy::centralized().name(), "centralized");
    EXPECT_EQ(Strategy::tree(2).name(), "tree");
    EXPECT_EQ(Strategy::ring().name(), "ring");
    EXPECT_EQ(Strategy::hierarchical_copy(2).name(), "hierarchical_copy");
    EXPECT_EQ(Strategy::reduction_to_one_device(1).parameter(), 1u);
    EXPECT_EQ(Strategy::direct(1).name(), "direct");
    EXPECT_EQ(Strategy::forest().name(), "forest");
    EXPECT_EQ(strategy_names().size(), strategy_table().size() + 1);
}

TEST(StrategyTable, ErrorsSayWhatIsWrong) {
    EXPECT_EQ(message([] { parse_strategy("ring(2)"); }), "'ring(2)': ring takes no number");
    EXPECT_EQ(message([] { parse_strategy("tree"); }), "tree needs its arity: tree(1)");
    EXPECT_EQ(message([] { parse_strategy("tree(2"); }), "'tree(2' lacks its ')'");
    EXPECT_EQ(message([] { parse_strategy("tree(two)"); }),
              "'tree(two)': tree takes one whole number, its arity: tree(1)");
    EXPECT_EQ(message([] {
                  parse_strategy("rign");
              }).find("unknown strategy 'rign'; it must be one of automatic, direct, "),
              0u);
    EXPECT_EQ(message([] { Strategy::tree(0); }), "arity of tree is 0; it must be 1 to 2147483647");
    EXPECT_EQ(
        message([] { strategy_from_json(R"({"strategy":"ring","arity":2})"); }).find("strategy: "),
        0u);
}

}  // namespace
}  // namespace rondo::test
