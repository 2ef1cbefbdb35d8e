// Rondo itself, with one strategy, timed the way nccl-tests times NCCL.
#pragma once

#include <memory>
#include <vector>

#include "bench/tool/contestant.hpp"
#include "bench/tool/rondo_calls.hpp"

namespace rondo::bench {

/// How calls are made and timed: nccl-tests' options.
struct TimingOptions {
    int threads = 1;
    int aggregate = 1;      ///< -m
    int blocking = 0;       ///< -z
    int graphs = 0;         ///< -G
    int graph_calls = 20;   ///< calls in a graph: -n
    bool cpu_time = false;  ///< -C: until the calls are enqueued
};

class RondoContestant final : public Contestant {
public:
    RondoContestant(const CommunicatorOptions& options, const Buffers& buffers,
                    const TimingOptions& timing);
    ~RondoContestant() override;

    std::string name() const override { return "rondo"; }
    Communicator& communicator() { return context_.communicator; }
    void begin(const Case& test) override;
    double run(int warm_up, int iterations) override;

    /// One call of all ranks, awaited.
    void call_once();
    /// Seconds of single iterations, by events on the ranks' streams; the slowest rank counts.
    std::vector<double> run_with_events(int iterations);

private:
    struct Graphs;

    void enqueue_iteration();
    double run_iterations(int iterations);
    double run_graphs();
    double run_threads(int iterations);
    void capture();

    const Buffers& buffers_;
    TimingOptions timing_;
    CallContext context_;
    std::unique_ptr<RondoCalls> calls_;
    std::unique_ptr<Graphs> graphs_;
};

}  // namespace rondo::bench
