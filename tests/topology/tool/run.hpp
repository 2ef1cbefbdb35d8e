// Runs rondo-topo as a user does and keeps what it says.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace rondo::testing {

struct Result {
    int code = -1;
    std::string out;
    std::string error;
};

/// A folder of its own for every test, removed with it.
class ToolTest : public ::testing::Test {
protected:
    std::filesystem::path file(const std::string& name) const { return folder_.file(name); }

    std::filesystem::path write(const std::string& name, const std::string& text) const {
        return folder_.write(name, text);
    }

    Result topo(const std::string& arguments) const { return run(RONDO_TOPO, arguments); }

    /// `arguments` as in a shell.
    Result run(const std::string& program, const std::string& arguments) const {
        const std::string command = "'" + program + "' " + arguments + " > '" +
                                    file("out").string() + "' 2> '" + file("error").string() + "'";
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_contents(file("out")),
                file_contents(file("error"))};
    }

private:
    TemporaryFolder folder_;
};

}  // namespace rondo::testing
