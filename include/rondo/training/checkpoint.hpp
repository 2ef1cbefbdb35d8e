// The state of a run in a file that is either complete or not there.
//
//     Checkpoint checkpoint;
//     checkpoint.text["strategy"] = to_json(strategy);
//     checkpoint.arrays["parameters"] = parameters;
//     save_checkpoint("run.ckpt", checkpoint);      // a crash leaves the old file or the new one
//     Checkpoint same = load_checkpoint("run.ckpt");
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo::training {

/// A file is not a checkpoint, or was damaged, or is of another run. Nothing was changed.
class RONDO_API CheckpointError : public InvalidArgument {
public:
    using InvalidArgument::InvalidArgument;
};

/// Named values of four kinds. Floats and doubles come back bit by bit.
struct Checkpoint {
    std::map<std::string, std::string> text = {};
    std::map<std::string, std::uint64_t> counts = {};
    std::map<std::string, std::vector<double>> numbers = {};
    std::map<std::string, std::vector<float>> arrays = {};

    bool operator==(const Checkpoint&) const = default;

    // Throw CheckpointError when there is no such value.
    RONDO_API const std::string& text_at(const std::string& name) const;
    RONDO_API std::uint64_t count_at(const std::string& name) const;
    RONDO_API const std::vector<double>& numbers_at(const std::string& name) const;
    RONDO_API const std::vector<float>& array_at(const std::string& name) const;
};

/// The bytes of a file: magic, version, length, values, checksum.
RONDO_API std::string to_bytes(const Checkpoint& checkpoint);
/// The inverse. Throws CheckpointError that says what is wrong: no checkpoint, a newer version, cut
/// off, damaged.
RONDO_API Checkpoint checkpoint_from_bytes(std::string_view bytes);

/// Writes `path`.new, syncs it, renames it to `path` and syncs the folder: whoever is killed at any
/// point leaves a complete file. Throws Error that names the file and the reason.
RONDO_API void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// Throws Error when the file can't be read, CheckpointError when it is damaged; both name it.
RONDO_API Checkpoint load_checkpoint(const std::string& path);

}  // namespace rondo::training
