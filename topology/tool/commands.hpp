// The commands of rondo-topo. Each prints to standard output and throws std::exception with a text
// for the user.
#pragma once

#include <string>
#include <vector>

#include "topology/forest/forest.hpp"

namespace rondo::tool {

void list_presets(bool json);

struct ShowOptions {
    std::string topology;
    std::string svg_file = {};  ///< "-": standard output, and nothing else is printed
    bool all = false;           ///< print everything, however long
};
void show(const ShowOptions& options);
/// The tables of show(); large machines are summed up unless `all`.
void print_tables(const Topology& topology, bool all);

void validate_file(const std::string& file);

struct ConvertOptions {
    std::string input;
    std::string output;       ///< "-": standard output
    std::string format = {};  ///< json or xml; empty: by the output's name
};
void convert(const ConvertOptions& options);

struct BoundOptions {
    std::string topology;
    std::string gpus = {};  ///< "0,1,4-7"; empty: all
    std::string links = "all";
    std::string model = "nccl";
    bool helpers = false;
    bool json = false;
    std::string svg_file = {};  ///< "-": standard output, and nothing else is printed
};
void bound(const BoundOptions& options);

struct PlanOptions {
    std::string topology;
    std::string collective = "all_reduce";
    std::string bytes = {};  ///< "256M"
    std::string gpus = {};   ///< "0,1,4-7"; empty: all
    std::string links = "all";
    std::string model = "nccl";
    std::string strategy = {};  ///< empty: the fastest
    int root = -1;              ///< GPU of broadcast and reduce; below 0: the first
    bool json = false;
    std::string trace_file = {};  ///< Chrome trace of the chosen strategy; "-": standard output
};
void plan(const PlanOptions& options);

struct DetectCommand {
    std::string output =
        {};                  ///< JSON goes there; "-": standard output, and nothing else is printed
    std::string root = "/";  ///< where sys and proc are
    std::string nvml = "libnvidia-ml.so.1";
    bool no_cuda = false;
    bool no_self_test = false;
    bool facts = false;  ///< print every fact with its source
};
void detect_machine(const DetectCommand& command);

/// What the user asked for could not be understood: exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Writes a file; "-" is standard output. Throws std::runtime_error that names the file.
void write_file(const std::string& file, const std::string& text);

}  // namespace rondo::tool
