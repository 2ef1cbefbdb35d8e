// Reads a whole topology file, with a bound on its size.
#include "topology/graph/text_file.hpp"

#include <array>
#include <fstream>

#include "topology/graph/error.hpp"

namespace rondo {

std::string read_text_file(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) throw TopologyError("it is a directory");
    std::ifstream file(path, std::ios::binary);
    if (!file) throw TopologyError("it cannot be opened");
    std::string text;
    std::array<char, 65536> piece;
    while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
        if (text.size() > largest_topology_text) {
            throw TopologyError("it is larger than " + std::to_string(largest_topology_text) +
                                " bytes");
        }
    }
    if (file.bad()) throw TopologyError("it cannot be read");
    return text;
}

}  // namespace rondo
