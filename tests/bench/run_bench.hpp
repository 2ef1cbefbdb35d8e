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

namespace rondo::testing {

struct BenchResult {
    int code = -1;
    std::string out;
    std::string error;
};

inline std::string file_contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of its own for every test, removed with it; the program runs in it.
class BenchProgram : public ::testing::Test {
protected:
    BenchProgram() {
        std::string pattern = std::filesystem::temp_directory_path() / "rondo-bench-test-XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
        folder_ = pattern;
    }
    ~BenchProgram() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path file(const std::string& name) const { return folder_ / name; }
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name), std::ios::binary) << text;
        return file(name);
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
        const std::string whole = "cd '" + folder_.string() + "' && " + command + " > out 2> error";
        const int status = std::system(whole.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_contents(file("out")),
                file_contents(file("error"))};
    }

private:
    std::filesystem::path folder_;
};

}  // namespace rondo::testing
