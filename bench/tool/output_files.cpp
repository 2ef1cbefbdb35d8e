// The files that a run leaves behind: JSON, CSV and the report.
#include "bench/tool/output_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/tool/csv_output.hpp"
#include "bench/tool/html_report.hpp"
#include "bench/tool/json_output.hpp"
#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

/// Of a file that is not there its folder counts.
void require_writable(const std::string& option, const std::string& name, bool always_new) {
    if (name.empty()) return;
    const std::filesystem::path path = std::filesystem::absolute(name);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        throw InvalidArgument(fmt::format("{} {}: it is a folder", option, name));
    }
    const bool there = !always_new && access(path.c_str(), F_OK) == 0;
    if (access(there ? path.c_str() : path.parent_path().c_str(), W_OK) != 0) {
        throw InvalidArgument(
            fmt::format("{} {}: it can't be written: {}", option, name, std::strerror(errno)));
    }
}

void write_text_file(const std::string& name, const std::string& text) {
    std::ofstream file(name, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw Error(name + " can't be written");
}

}  // namespace

void require_writable_outputs(const Options& options) {
    require_writable("-J", options.json_file, true);
    require_writable("--csv", options.csv_file, false);
    require_writable("--html", options.html_file, false);
}

void write_outputs(const Options& options, const Report& report) {
    std::string problems;
    const auto attempt = [&](const std::string& name, auto write) {
        try {
            if (!name.empty()) write();
        } catch (const Error& error) {
            problems += (problems.empty() ? "" : "; ") + std::string(error.what());
        }
    };
    attempt(options.json_file, [&] {
        fmt::print("# Writing JSON output to {}\n",
                   write_new_file(options.json_file, to_json(report)));
    });
    attempt(options.csv_file, [&] { write_text_file(options.csv_file, to_csv(report)); });
    attempt(options.html_file, [&] {
        write_text_file(options.html_file, to_html(report));
        fmt::print("# Report: {}\n", std::filesystem::absolute(options.html_file).string());
    });
    if (!problems.empty()) throw Error(problems);
}

}  // namespace rondo::bench
