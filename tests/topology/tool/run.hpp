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

namespace rondo::testing {

struct Result {
    int code = -1;
    std::string out;
    std::string error;
};

inline std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of its own for every test, removed with it.
class ToolTest : public ::testing::Test {
protected:
    ToolTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rondo-topo-XXXXXX");
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
        folder_ = pattern;
    }
    ~ToolTest() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path file(const std::string& name) const { return folder_ / name; }

    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name), std::ios::binary) << text;
        return file(name);
    }

    Result topo(const std::string& arguments) const { return run(RONDO_TOPO, arguments); }

    /// `arguments` as in a shell.
    Result run(const std::string& program, const std::string& arguments) const {
        const std::string command = "'" + program + "' " + arguments + " > '" +
                                    file("out").string() + "' 2> '" + file("error").string() + "'";
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(file("out")),
                contents(file("error"))};
    }

private:
    std::filesystem::path folder_;
};

}  // namespace rondo::testing
