// What a run of rondo-bench found, as one value: the table, the JSON, the CSV file and the report
// are written from it, so they can't differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/tool/operation.hpp"
#include "bench/tool/sizes.hpp"
#include "bench/tool/statistics.hpp"

namespace rondo::bench {

/// One peer in one half of a row. Either it has a time or it has a problem.
struct PeerTime {
    std::string name;
    Spread us = {};
    std::int64_t iterations = 0;
    std::string problem = {};  ///< "killed by signal 9"
    bool from_log = false;     ///< read from a saved log: another machine, another day
};

/// Half a row: out of place, or in place.
struct Half {
    Spread us = {};  ///< of the rounds; the median counts
    double alg_bw = 0;
    double bus_bw = 0;
    std::optional<std::int64_t> wrong = {};  ///< none: not checked
    std::optional<IterationStatistics> iterations = {};
    Spread loop_us = {};          ///< reads and writes as many bytes, all cores; 0: not measured
    Spread hand_written_us = {};  ///< the same collective written by hand; 0: not measured
    Spread link_us = {};          ///< GPUs: as many bytes copied over the links; 0: not measured
    std::vector<PeerTime> peers = {};

    /// The best of the limits; 0: not measured.
    double limit_us() const;
    /// Share of the limit that was reached; 0: not measured.
    double limit_ratio() const;
};

struct Row {
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    std::string type;  ///< NCCL's name
    std::string op;    ///< NCCL's name, or none
    int root = -1;
    std::optional<Half> out_of_place = {};
    std::optional<Half> in_place = {};
    std::int64_t iterations = 0;  ///< that were timed in each half
    std::string strategy = {};    ///< what ran
    std::string asked = {};       ///< what the caller named
    double simulated_us = 0;      ///< on the topology's machine; 0: not simulated
    double bound_us = 0;          ///< computed: no schedule is faster on that wiring; 0: unknown
    std::string reason = {};      ///< why this strategy
    std::string timestamp = {};
};

struct Device {
    int rank = 0;
    int device = 0;
    std::string bus = {};  ///< "0000:06:00"
    std::string name = {};
};

/// A new communicator's first calls.
struct FirstCall {
    std::string strategy;
    int ranks = 0;
    std::uint64_t bytes = 0;
    double create_ms = 0, first_ms = 0, second_ms = 0;
};

/// Time a strategy is predicted to take, for the choice map.
struct Prediction {
    std::string strategy;
    std::uint64_t bytes = 0;
    double us = 0;
    bool chosen = false;
};

/// One point of --growth.
struct GrowthPoint {
    int ranks = 0;
    std::uint64_t bytes = 0;
    double first_ms = 0;
    Spread us = {};
    double host_bytes = 0;      ///< that the communicator took from the heap, with this call's plan
    double device_bytes = 0;    ///< of device memory, the largest of its ranks
    std::string left_out = {};  ///< why there are no figures
};

struct Header {
    Operation operation = Operation::all_reduce;
    int threads = 1;
    int gpus = 1;  ///< per thread
    SizeRange sizes = {};
    int warm_up = 1, iterations = 20, aggregate = 1, check = 1, graphs = 0, unalign = 0;
    int blocking = 0;
    bool per_iteration = false, cpu_time = false, timestamps = false, parallel_init = false;
    int per_iteration_skip = 0;
    int rounds = 0;
    std::string version;
    std::string start_time = {}, end_time = {}, host = {};
    std::vector<std::string> arguments = {};
    std::vector<std::string> environment = {};
    std::vector<Device> devices = {};
    bool virtual_gpus = true;
    std::string topology = {};      ///< name
    std::string topology_svg = {};  ///< picture
    /// What the limit is a limit of: this machine's memory, or the links between GPUs.
    std::string limit_of = "memory";
    std::vector<std::pair<std::string, std::string>> machine = {};
    int ranks() const { return threads * gpus; }
};

struct Report {
    Header header = {};
    std::vector<Row> rows = {};
    std::vector<std::string> errors = {};
    std::vector<std::string> notes = {};  ///< peers that are missing, options without meaning
    std::vector<std::string> peers = {};  ///< names of those that took part, in order
    std::vector<FirstCall> first_calls = {};
    std::vector<Prediction> predictions = {};
    std::vector<GrowthPoint> growth = {};
    double least_bus_bw = -1;  ///< NCCL_TESTS_MIN_BW; below 0: not asked
    std::string verdict = {};

    std::int64_t wrong() const;
    /// Over all halves; 0 without rows.
    double average_bus_bw() const;
    bool bus_bw_failed() const;
};

/// How many times as fast as the peer Rondo is; 0: unknown. A saved log is of a machine with GPUs:
/// on virtual ones it is set against the simulated time.
double speedup_over(const PeerTime& peer, const Report& report, const Row& row, const Half& half);

/// The halves of a row that exist, out of place first.
std::vector<const Half*> halves_of(const Row& row);

}  // namespace rondo::bench
