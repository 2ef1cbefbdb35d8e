// What rondo-train was asked on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::training::tool {

struct ToolOptions {
    std::string data;
    std::string target;
    std::string task = "automatic";
    std::string delimiter = ",";
    std::string header = "automatic";
    std::string model = "dense:32";
    std::string activation = "tanh";
    std::string strategy;  ///< a file; empty: local
    std::string optimizer = "adam:lr=0.01";
    std::string gpu = "default";
    std::uint32_t epochs = 20;
    std::uint32_t local_epochs = 1;
    std::uint64_t batch_size = 32;
    std::uint64_t seed = 0;
    std::uint32_t patience = 0;
    std::uint32_t devices = 0;  ///< 0: all
    double validation = 0.2;
    bool raw = false;  ///< features and numbers to learn as they are
    bool no_shuffle = false;
    bool quiet = false;
    std::string checkpoint;
    std::string resume;
    std::string report;
    std::string timeline;
    std::string evolution;
    std::string parameters;
};

/// Trains, prints a summary, writes files. Throws Error.
void run(const ToolOptions& options);

/// Whether this program contains virtual GPUs.
bool is_virtual();

}  // namespace rondo::training::tool
