// Columns line up, whatever is in them.
#include "topology/tool/table.hpp"

#include <gtest/gtest.h>

namespace rondo::tool {
namespace {

TEST(Table, ColumnsAreAsWideAsNeeded) {
    Table table({{"NAME"}, {"N", Align::right}, {"REST"}});
    table.add({"a", "1", "x"});
    table.add({"longer", "100", ""});
    EXPECT_EQ(table.text(),
              "  NAME      N  REST\n"
              "  a         1  x\n"
              "  longer  100\n");
}

TEST(Table, CountsCharactersNotBytes) {
    Table table({{""}, {""}});
    table.add({"é", "x"});
    table.add({"ab", "y"});
    EXPECT_EQ(table.text(), "  é   x\n  ab  y\n");
}

TEST(Numbers, LongRunsAreRanges) {
    EXPECT_EQ(numbers({0, 1, 4, 5, 6, 7, 2}), "0, 1, 4-7, 2");
    EXPECT_EQ(numbers({3}), "3");
    EXPECT_EQ(numbers({}), "");
}

}  // namespace
}  // namespace rondo::tool
