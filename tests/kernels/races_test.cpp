// Seeded races in kernels are reported by ThreadSanitizer, and the right kernel is not.
// race_program is the kernel.
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
    int exit_code = -1;
    std::string output;
};

/// What ThreadSanitizer makes of its findings.
constexpr int race_exit_code = 66;

/// Starts race_program with fixed addresses: older sanitizers do not run where the kernel
/// randomises them widely.
[[noreturn]] void become_program(const char* variant, int output) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    personality(ADDR_NO_RANDOMIZE);
    setenv("TSAN_OPTIONS", "exitcode=66 halt_on_error=0", 1);
    alarm(100);
    execl(RONDO_RACE_PROGRAM, RONDO_RACE_PROGRAM, variant, nullptr);
    _exit(127);
}

Outcome run_program(const char* variant) {
    int ends[2];
    if (pipe(ends) != 0) {
        return {};
    }
    const pid_t child = fork();
    if (child == 0) {
        become_program(variant, ends[1]);
    }
    close(ends[1]);
    Outcome outcome;
    std::array<char, 4096> part;
    for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;) {
        outcome.output.append(part.data(), static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return outcome;
}

TEST(Races, TheRightKernelIsClean) {
    const Outcome outcome = run_program("correct");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.output, "");
}

TEST(Races, AMissingSyncIsReportedWhereThePointersAreShared) {
    const Outcome outcome = run_program("missing_sync");
    EXPECT_EQ(outcome.exit_code, race_exit_code) << outcome.output;
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr("data race"), HasSubstr("share_spans"), HasSubstr("WithoutSync")));
}

TEST(Races, ASignalBeforeTheBlockIsDoneIsReportedWhereTheDataIsRead) {
    const Outcome outcome = run_program("early_signal");
    EXPECT_EQ(outcome.exit_code, race_exit_code) << outcome.output;
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr("data race"), HasSubstr("load_global"), HasSubstr("store_global"),
                      HasSubstr("WithEarlySignal"), Not(HasSubstr("share_spans"))));
}

TEST(Races, ARelaxedFlagIsReportedWhereTheDataIsRead) {
    const Outcome outcome = run_program("relaxed_flag");
    EXPECT_EQ(outcome.exit_code, race_exit_code) << outcome.output;
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr("data race"), HasSubstr("load_global"), HasSubstr("store_global"),
                      HasSubstr("WithRelaxedFlag"), Not(HasSubstr("share_spans"))));
}

}  // namespace
