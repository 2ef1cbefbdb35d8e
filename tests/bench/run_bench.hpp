// Runs rondo-bench as a user does and keeps what it says.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace rondo::testing {

struct BenchResult {
    int code = -1;
    std::string out;
    std::string error;
};

/// A folder of its own for every test, removed with it; the program runs in it.
class BenchProgram : public ::testing::Test {
protected:
    std::filesystem::path file(const std::string& name) const { return folder_.file(name); }
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        return folder_.write(name, text);
    }
    nlohmann::json json(const std::string& name) const {
        return nlohmann::json::parse(file_contents(file(name)));
    }

    /// As short as can be: what matters here is not how fast anything is. `arguments` as in a
    /// shell.
    BenchResult bench(const std::string& arguments) const {
        return run("timeout 60 '" RONDO_BENCH "' " + arguments +
                   " --gpu virtual --rounds 2 --round-time 0 -n 2");
    }
    BenchResult run(const std::string& command) const {
        const std::string whole =
            "cd '" + folder_.path().string() + "' && " + command + " > out 2> error";
        const int status = std::system(whole.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_contents(file("out")),
                file_contents(file("error"))};
    }

private:
    TemporaryFolder folder_;
};

}  // namespace rondo::testing
