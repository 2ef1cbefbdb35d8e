// Rondo itself, with one strategy, timed the way nccl-tests times NCCL.
#include "bench/tool/rondo_contestant.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "bench/tool/cuda_check.hpp"

namespace rondo::bench {
namespace {

using CallClock = std::chrono::steady_clock;

double seconds_since(CallClock::time_point begin) {
    return std::chrono::duration<double>(CallClock::now() - begin).count();
}

std::vector<cudaStream_t> make_streams(const Buffers& buffers) {
    std::vector<cudaStream_t> streams;
    for (int rank = 0; rank < buffers.ranks(); ++rank) {
        check(cudaSetDevice(buffers.device(rank)), "cudaSetDevice");
        check(cudaStreamCreateWithFlags(&streams.emplace_back(), cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
    }
    return streams;
}

/// Events of one rank, around every iteration.
class RankEvents {
public:
    RankEvents(int device, int iterations) : events_(static_cast<std::size_t>(iterations) + 1) {
        check(cudaSetDevice(device), "cudaSetDevice");
        for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "cudaEventCreate");
    }
    RankEvents(RankEvents&&) = default;
    ~RankEvents() {
        for (cudaEvent_t event : events_) cudaEventDestroy(event);
    }
    void record(std::size_t at, cudaStream_t stream) {
        check(cudaEventRecord(events_[at], stream), "cudaEventRecord");
    }
    double seconds(std::size_t iteration) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, events_[iteration], events_[iteration + 1]),
              "cudaEventElapsedTime");
        return 1e-3 * static_cast<double>(milliseconds);
    }

private:
    std::vector<cudaEvent_t> events_;
};

}  // namespace

/// One graph per rank.
struct RondoContestant::Graphs {
    std::vector<cudaGraphExec_t> executables;

    ~Graphs() {
        for (cudaGraphExec_t graph : executables) cudaGraphExecDestroy(graph);
    }
};

RondoContestant::RondoContestant(const CommunicatorOptions& options, const Buffers& buffers,
                                 const TimingOptions& timing)
    : buffers_(buffers),
      timing_(timing),
      context_{Communicator::create(options), make_streams(buffers), options.strategy} {}

RondoContestant::~RondoContestant() {
    graphs_.reset();
    calls_.reset();
    for (cudaStream_t stream : context_.streams) cudaStreamDestroy(stream);
}

void RondoContestant::begin(const Case& test) {
    graphs_.reset();
    calls_ = make_calls(context_, buffers_, test);
}

void RondoContestant::call_once() {
    calls_->call_all();
    calls_->wait();
}

void RondoContestant::enqueue_iteration() {
    const bool wait_each = timing_.blocking == 1 || timing_.blocking == 2;
    for (int i = 0; i < timing_.aggregate; ++i) {
        calls_->call_all();
        if (wait_each) calls_->wait();
    }
    if (timing_.blocking == 3) calls_->wait();
}

double RondoContestant::run_iterations(int iterations) {
    const auto begin = CallClock::now();
    for (int i = 0; i < iterations; ++i) enqueue_iteration();
    const double enqueued = seconds_since(begin);
    calls_->wait();
    const double taken = timing_.cpu_time ? enqueued : seconds_since(begin);
    return taken / iterations / timing_.aggregate;
}

double RondoContestant::run(int warm_up, int iterations) {
    if (timing_.threads > 1) {
        if (warm_up > 0) run_threads(warm_up);
        return run_threads(iterations);
    }
    if (warm_up > 0) run_iterations(warm_up);
    if (timing_.graphs > 0) return run_graphs();
    return run_iterations(iterations);
}

void RondoContestant::capture() {
    for (cudaStream_t stream : context_.streams) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
    }
    for (int i = 0; i < timing_.graph_calls * timing_.aggregate; ++i) calls_->call_all();
    graphs_ = std::make_unique<Graphs>();
    for (cudaStream_t stream : context_.streams) {
        cudaGraph_t graph = nullptr;
        check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
        check(cudaGraphInstantiate(&graphs_->executables.emplace_back(), graph, 0),
              "cudaGraphInstantiate");
        cudaGraphDestroy(graph);
    }
}

double RondoContestant::run_graphs() {
    if (!graphs_) capture();
    const auto begin = CallClock::now();
    for (int launch = 0; launch < timing_.graphs; ++launch) {
        for (std::size_t rank = 0; rank < context_.streams.size(); ++rank) {
            check(cudaGraphLaunch(graphs_->executables[rank], context_.streams[rank]),
                  "cudaGraphLaunch");
        }
    }
    for (cudaStream_t stream : context_.streams) {
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    return seconds_since(begin) / timing_.graphs / timing_.graph_calls / timing_.aggregate;
}

double RondoContestant::run_threads(int iterations) {
    const int ranks = buffers_.ranks(), each = ranks / timing_.threads;
    std::barrier start(timing_.threads + 1);
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::jthread> threads;
    for (int t = 0; t < timing_.threads; ++t) {
        threads.emplace_back([&, t] {
            start.arrive_and_wait();
            try {
                std::vector<Work> works(static_cast<std::size_t>(each));
                for (int i = 0; i < iterations * timing_.aggregate; ++i) {
                    for (int r = 0; r < each; ++r) {
                        works[static_cast<std::size_t>(r)] = calls_->call(t * each + r);
                    }
                    if (timing_.blocking != 0) {
                        for (Work& work : works) work.wait();
                    }
                }
                for (Work& work : works) work.wait();
            } catch (...) {
                const std::scoped_lock lock(mutex);
                failure = std::current_exception();
            }
        });
    }
    const auto begin = CallClock::now();
    start.arrive_and_wait();
    threads.clear();
    if (failure) std::rethrow_exception(failure);
    return seconds_since(begin) / iterations / timing_.aggregate;
}

std::vector<double> RondoContestant::run_with_events(int iterations) {
    std::vector<RankEvents> events;
    for (int rank = 0; rank < buffers_.ranks(); ++rank) {
        events.emplace_back(buffers_.device(rank), iterations);
    }
    const auto record = [&](std::size_t at) {
        for (std::size_t rank = 0; rank < events.size(); ++rank) {
            check(cudaSetDevice(buffers_.device(static_cast<int>(rank))), "cudaSetDevice");
            events[rank].record(at, context_.streams[rank]);
        }
    };
    record(0);
    for (int i = 0; i < iterations; ++i) {
        enqueue_iteration();
        record(static_cast<std::size_t>(i) + 1);
    }
    calls_->wait();
    for (cudaStream_t stream : context_.streams) {
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    std::vector<double> times(static_cast<std::size_t>(iterations));
    for (const RankEvents& rank : events) {
        for (std::size_t i = 0; i < times.size(); ++i) {
            times[i] = std::max(times[i], rank.seconds(i) / timing_.aggregate);
        }
    }
    return times;
}

}  // namespace rondo::bench
