// The limits of a collective of virtual GPUs, which all live in one memory.
#include "bench/tool/limits.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace rondo::bench {
namespace {

using LimitClock = std::chrono::steady_clock;

constexpr std::size_t most_bytes_alone = 256 << 10;
constexpr std::size_t least_bytes_turning = 1 << 20;
constexpr std::size_t most_bytes_in_caches = 512 << 20;
constexpr double trial_seconds = 5e-3;
constexpr int most_trial_passes = 1000;

std::size_t bytes_of(const std::vector<FoldWork>& work) {
    std::size_t bytes = 0;
    for (const FoldWork& each : work) {
        bytes += sizeof(float) * each.count * (each.sources.size() + each.destinations.size());
    }
    return bytes;
}

const float* as_floats(const std::byte* bytes) {
    return reinterpret_cast<const float*>(bytes);
}
float* as_floats(std::byte* bytes) {
    return reinterpret_cast<float*>(bytes);
}

/// Bytes of other types may look like denormal floats, which are slow to add: here they count as 0.
class NoDenormals {
#if defined(__x86_64__)
public:
    NoDenormals() {
        __builtin_ia32_ldmxcsr(before_ | 0x8040);
    }
    ~NoDenormals() {
        __builtin_ia32_ldmxcsr(before_);
    }
    NoDenormals(const NoDenormals&) = delete;
    NoDenormals& operator=(const NoDenormals&) = delete;

private:
    unsigned before_ = __builtin_ia32_stmxcsr();
#endif
};

/// What one of several threads does of a pass.
struct Share {
    unsigned thread = 0, threads = 1;
    bool backwards = false;
};

/// Elements begin to end, in pieces that caches hold. Backwards, what the pass before touched last
/// comes first, while it is still in a cache.
void fold_pieces(const FoldSpans& spans, std::size_t begin, std::size_t end, LoopStyle style,
                 bool backwards) {
    constexpr std::size_t piece = 16 << 10;  // floats
    const std::size_t pieces = (end - begin + piece - 1) / piece;
    for (std::size_t i = 0; i < pieces; ++i) {
        const std::size_t at = begin + (backwards ? pieces - 1 - i : i) * piece;
        fold(spans, at, std::min(at + piece, end), style);
    }
}

/// `thread` does its part of every piece of work.
void do_share(const std::vector<FoldWork>& work, LoopStyle style, const Share& share) {
    constexpr std::size_t line = 64;  // floats; shares begin at whole cache lines
    [[maybe_unused]] const NoDenormals no_denormals;
    for (std::size_t i = 0; i < work.size(); ++i) {
        const FoldWork& each = work[share.backwards ? work.size() - 1 - i : i];
        const auto border = [&](unsigned thread) {
            return thread == share.threads ? each.count
                                           : each.count * thread / share.threads / line * line;
        };
        fold_pieces({each.sources.data(), each.destinations.data(), each.sources.size(),
                     each.destinations.size()},
                    border(share.thread), border(share.thread + 1), style, share.backwards);
    }
}

/// One fold from all sources to all destinations.
FoldWork whole_fold(const Operands& operands, std::size_t floats) {
    FoldWork work{.count = floats};
    for (const std::byte* input : operands.inputs) work.sources.push_back(as_floats(input));
    for (std::byte* output : operands.outputs) work.destinations.push_back(as_floats(output));
    return work;
}

}  // namespace

std::vector<FoldWork> folds_of(const Buffers& buffers, const Case& test) {
    const Operands operands = operands_of(buffers, test);
    const std::size_t part = test.shape.count * size_of(test.type) / sizeof(float);
    const auto ranks = static_cast<std::size_t>(test.ranks);
    const auto root = static_cast<std::size_t>(test.root);
    FoldWork whole = whole_fold(operands, part);
    std::vector<FoldWork> work;
    switch (test.operation) {
        case Operation::all_reduce:
        case Operation::batch_reduce:
            return {whole};
        case Operation::reduce:
            whole.destinations = {whole.destinations[root]};
            return {whole};
        case Operation::broadcast:
            whole.sources = {whole.sources[root]};
            if (test.in_place) whole.destinations.erase(whole.destinations.begin() + test.root);
            return {whole};
        case Operation::reduce_scatter:
            for (std::size_t r = 0; r < ranks; ++r) {
                FoldWork fold_work{.destinations = {whole.destinations[r]}, .count = part};
                for (const float* source : whole.sources) {
                    fold_work.sources.push_back(source + r * part);
                }
                work.push_back(std::move(fold_work));
            }
            return work;
        case Operation::all_gather:
            for (std::size_t r = 0; r < ranks; ++r) {
                FoldWork fold_work{.sources = {whole.sources[r]}, .count = part};
                for (std::size_t d = 0; d < ranks; ++d) {
                    if (test.in_place && d == r) continue;
                    fold_work.destinations.push_back(whole.destinations[d] + r * part);
                }
                work.push_back(std::move(fold_work));
            }
            return work;
        case Operation::gather:
        case Operation::scatter:
            for (std::size_t r = 0; r < ranks; ++r) {
                if (test.in_place && r == root) continue;
                const bool gathers = test.operation == Operation::gather;
                const float* const from =
                    gathers ? whole.sources[r] : whole.sources[root] + r * part;
                float* const to =
                    gathers ? whole.destinations[root] + r * part : whole.destinations[r];
                work.push_back({{from}, {to}, part});
            }
            return work;
        case Operation::all_to_all:
            for (std::size_t s = 0; s < ranks; ++s) {
                for (std::size_t d = 0; d < ranks; ++d) {
                    work.push_back(
                        {{whole.sources[s] + d * part}, {whole.destinations[d] + s * part}, part});
                }
            }
            return work;
        case Operation::sendrecv:
            for (std::size_t s = 0; s < ranks; ++s) {
                work.push_back({{whole.sources[s]}, {whole.destinations[(s + 1) % ranks]}, part});
            }
            return work;
    }
    return work;
}

std::vector<FoldLimit::Way> FoldLimit::ways_of(const std::vector<FoldWork>& work) {
    std::vector<Way> ways;
    for (const LoopStyle style : loop_styles()) {
        ways.push_back({.style = style});
        if (bytes_of(work) >= least_bytes_turning && bytes_of(work) <= most_bytes_in_caches) {
            ways.push_back({.style = style, .turns = true});
        }
        if (bytes_of(work) <= most_bytes_alone) ways.push_back({.style = style, .alone = true});
    }
    return ways;
}

/// Which way is fastest changes with what it leaves in the caches, so a glance does not tell: the
/// fastest of each kind at first sight meet in trials as long as a turn.
void FoldLimit::begin(const Case& test) {
    work_ = work_of(test);
    PinnedTeam team;
    std::map<std::pair<bool, bool>, std::pair<double, Way>> fastest;
    const bool beyond_caches = bytes_of(work_) > most_bytes_in_caches;
    for (const Way& way : ways_of(work_)) {
        if (!beyond_caches) time(team, way, 1);  // nothing to warm up otherwise
        const double seconds = time(team, way, beyond_caches ? 1 : 2);
        const auto [kind, is_new] =
            fastest.try_emplace({way.style.streaming, way.turns}, seconds, way);
        if (!is_new && seconds < kind->second.first) kind->second = {seconds, way};
    }
    double best = 0;
    for (const auto& [kind, candidate] : fastest) {
        const auto& [first, way] = candidate;
        const int passes = std::clamp(static_cast<int>(trial_seconds / std::max(first, 1e-9)), 2,
                                      most_trial_passes);
        const double seconds = time(team, way, passes);
        if (best == 0 || seconds < best) {
            best = seconds;
            way_ = way;
        }
    }
}

double FoldLimit::run(int warm_up, int iterations) {
    PinnedTeam team;
    time(team, way_, warm_up);
    return time(team, way_, iterations);
}

double FoldLimit::time(PinnedTeam& team, const Way& way, int iterations) const {
    const auto begin = LimitClock::now();
    for (int i = 0; i < iterations; ++i) {
        const bool backwards = way.turns && i % 2 != 0;
        if (way.alone) {
            do_share(work_, way.style, {});
        } else {
            team.run([&](unsigned thread) {
                do_share(work_, way.style, {thread, team.size(), backwards});
            });
        }
    }
    const std::chrono::duration<double> taken = LimitClock::now() - begin;
    return taken.count() / std::max(iterations, 1);
}

std::vector<FoldWork> HandWritten::work_of(const Case& test) const {
    std::vector<FoldWork> work = folds_of(buffers_, test);
    std::erase_if(work, [](const FoldWork& fold_work) { return fold_work.destinations.empty(); });
    return work;
}

std::vector<FoldWork> ReadWriteLoop::work_of(const Case& test) const {
    const Traffic traffic = least_traffic(test.operation, test.ranks,
                                          static_cast<double>(test.shape.bytes), test.in_place);
    const auto each = static_cast<std::size_t>(traffic.total() / 2 / test.ranks / sizeof(float));
    // In place an all-reduce has half the working set.
    const bool same_memory = test.in_place && test.operation == Operation::all_reduce;
    std::vector<FoldWork> work;
    for (int rank = 0; rank < test.ranks; ++rank) {
        float* const to = as_floats(buffers_.receive(rank));
        const float* const from = same_memory ? to : as_floats(buffers_.send(rank));
        work.push_back({{from}, {to}, each});
    }
    return work;
}

}  // namespace rondo::bench
