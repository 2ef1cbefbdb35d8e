// The main() of every test program: GoogleTest's own, except that skipped cases leave a trace that
// scripts can count.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

namespace {

/// What CTest takes for "skipped" (SKIP_RETURN_CODE).
constexpr int all_skipped = 77;

/// Prints one line per skipped case: "skipped: Suite.Case: reason".
class SkipReporter : public testing::EmptyTestEventListener {
    void OnTestEnd(const testing::TestInfo& test) override {
        report(std::string(test.test_suite_name()) + "." + test.name(), *test.result());
    }

    void OnTestSuiteEnd(const testing::TestSuite& suite) override {
        report(suite.name(), suite.ad_hoc_test_result());
    }

    static void report(const std::string& name, const testing::TestResult& result) {
        for (int i = 0; i < result.total_part_count(); ++i) {
            const testing::TestPartResult& part = result.GetTestPartResult(i);
            if (!part.skipped()) continue;
            const std::string reason = part.message();
            std::cout << "skipped: " << name << ": " << reason.substr(0, reason.find('\n'))
                      << std::endl;
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::UnitTest& unit = *testing::UnitTest::GetInstance();
    unit.listeners().Append(new SkipReporter);  // GoogleTest owns it
    const int result = RUN_ALL_TESTS();
    const bool nothing_ran = unit.successful_test_count() == 0 && unit.skipped_test_count() > 0;
    return result == 0 && nothing_ran ? all_skipped : result;
}
