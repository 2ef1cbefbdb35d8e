// A whole file as text.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "rondo/error.hpp"

namespace rondo::training {

/// Throws Error that names the file when it can't be opened or read.
inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(fmt::format("the file {} can't be opened", path));
    try {
        return {std::istreambuf_iterator<char>(file), {}};
    } catch (const std::ios_base::failure& error) {  // a folder, for one
        throw Error(fmt::format("the file {} can't be read: {}", path, error.what()));
    }
}

}  // namespace rondo::training
