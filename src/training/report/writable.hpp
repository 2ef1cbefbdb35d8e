// Says before the work, not after it, that its result can't be written.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "rondo/error.hpp"

namespace rondo::training {

/// Throws Error that names the file when its folder is not there or can't be written to, or when it
/// is a folder itself. An empty path is fine: nothing will be written.
inline void require_writable(const std::string& path) {
    if (path.empty()) return;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        throw Error(fmt::format("the file {} can't be written: it is a folder", path));
    }
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
        throw Error(fmt::format("the file {} can't be written: {}", path,
                                std::generic_category().message(errno)));
    }
}

}  // namespace rondo::training
