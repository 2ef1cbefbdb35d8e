// The build of this program is the test: it contains every public header alone, twice (see
// CMakeLists.txt).
#include <gtest/gtest.h>

TEST(PublicHeaders, EachCompilesAloneAndAllLinkTogether) {
    EXPECT_GT(RONDO_PUBLIC_HEADER_COUNT, 0);
}
