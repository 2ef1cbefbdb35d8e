// One run of the program: makes the contestants, goes through the sizes, gathers the report.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/tool/contestant.hpp"
#include "bench/tool/nccl_log.hpp"
#include "bench/tool/options.hpp"
#include "bench/tool/result.hpp"
#include "bench/tool/rondo_contestant.hpp"
#include "bench/tool/turns.hpp"
#include "topology/graph/topology.hpp"

namespace rondo::bench {

/// What the session says while it works.
struct Listener {
    std::function<void(const Report&)> started = [](const Report&) {};
    std::function<void(const Report&, const Row&)> row = [](const Report&, const Row&) {};
    std::function<void(const GrowthPoint&)> point = [](const GrowthPoint&) {};
    std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// 0, 1, ...
std::vector<int> first_devices(int count);

class Session {
public:
    /// Throws rondo::Error when there are not enough devices or there is not enough memory. Peers
    /// that can't take part are noted.
    explicit Session(const Options& options);

    /// Goes through all sizes, types, operators and roots once.
    void run_cycle(const Listener& listener);
    /// Times first calls of new communicators.
    void measure_first_calls();
    /// What the simulator says of every strategy and size.
    void predict_choices();
    /// Instead of the rows: points for more and more GPUs.
    void run_growth(const Listener& listener);
    /// Notes the end; the report is complete then.
    const Report& finish();

    const Report& report() const { return report_; }

private:
    struct StrategyEntry {
        Strategy strategy;
        std::unique_ptr<RondoContestant> contestant;
    };
    struct LimitEntry {
        std::unique_ptr<Contestant> contestant;
        Spread Half::*place = nullptr;  ///< where its times go
    };
    struct SavedLog {
        std::string name;
        NcclLog log;
    };

    void make_header();
    void make_contestants();
    void add_limits();
    void add_peer(const std::string& name);
    void add_log(const std::string& file);
    std::vector<std::uint64_t> message_sizes() const;
    std::vector<int> roots() const;
    Case case_of(ElementType type, ReduceOp op, int root, std::uint64_t bytes) const;
    void measure_rows(const Case& test, const Listener& listener);
    std::vector<Half> measure_half(const Case& test, const Listener& listener,
                                   std::vector<Row>& rows);
    std::size_t first_peer() const { return strategies_.size() + limits_.size(); }
    std::vector<Turns> begin_turns(const Case& test, std::vector<Half>& halves,
                                   const std::function<void(const std::string&)>& progress);
    void take_times(Half& half, std::size_t strategy, const std::vector<Turns>& turns,
                    const Case& test);
    void tell_problem(const std::string& where, const std::string& strategy, const Turns& turns);
    std::int64_t check_result(RondoContestant& contestant, const Case& test);
    void add_log_times(Half& half, const Case& test, bool in_place) const;
    void explain(Row& row, StrategyEntry& entry, const Case& test);
    void note_once(const std::string& note);

    Options options_;
    Report report_;
    std::unique_ptr<Buffers> buffers_;
    std::vector<StrategyEntry> strategies_;
    std::vector<LimitEntry> limits_;
    std::optional<Topology> topology_;
    std::map<int, double> bounds_;  ///< of each root: bytes per second, see bound_of()
    std::vector<std::unique_ptr<Contestant>> peers_;
    std::vector<std::string> peer_problems_;  ///< of each peer; not empty: it is gone
    std::vector<SavedLog> logs_;
};

}  // namespace rondo::bench
