// Averages arrays of threads where they are: a meeting of all workers, then pieces that anybody who
// is awake works off.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rondo/training/gradient_sync.hpp"

namespace rondo::training {
namespace {

/// What one worker takes at a time: enough to be worth the claim, little enough to balance.
constexpr std::size_t mean_piece = std::size_t{1} << 15;

using Vector = float __attribute__((vector_size(32)));
constexpr std::size_t vector_floats = sizeof(Vector) / sizeof(float);
/// Vectors that are added up in registers: all arrays are read and written once, line by line. (In
/// tiles of the cache's size it took twice as long.)
constexpr std::size_t block_vectors = 8;
constexpr std::size_t block_floats = block_vectors * vector_floats;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define RONDO_WIDER_VECTORS [[gnu::target_clones("avx2", "default")]]
#else
#define RONDO_WIDER_VECTORS
#endif

/// The mean of elements [begin, end) of all arrays, written back to all, in the arrays' order.
/// The same operations on every machine: wider vectors have the same bits.
RONDO_WIDER_VECTORS [[gnu::optimize("O3")]] void average_range(std::span<float* const> arrays,
                                                               std::size_t begin, std::size_t end) {
    const float workers = static_cast<float>(arrays.size());
    std::size_t first = begin;
    for (; first + block_floats <= end; first += block_floats) {
        Vector sum[block_vectors];
        std::memcpy(sum, arrays[0] + first, sizeof(sum));
        for (std::size_t w = 1; w < arrays.size(); ++w) {
            for (std::size_t i = 0; i < block_vectors; ++i) {
                Vector value;
                std::memcpy(&value, arrays[w] + first + i * vector_floats, sizeof(value));
                sum[i] += value;
            }
        }
        for (Vector& value : sum) value /= workers;
        for (float* const array : arrays) {
            for (std::size_t i = 0; i < block_vectors; ++i) {
                std::memcpy(array + first + i * vector_floats, &sum[i], sizeof(Vector));
            }
        }
    }
    for (; first < end; ++first) {
        float sum = arrays[0][first];
        for (std::size_t w = 1; w < arrays.size(); ++w) sum += arrays[w][first];
        for (float* const array : arrays) array[first] = sum / workers;
    }
}

}  // namespace

GradientSync::~GradientSync() = default;

void LocalGradientSync::sync_gradients(std::span<float>) {}

/// A round is gathering, then averaging (all have come) or refused (their arrays don't fit), then
/// over when the last has left. `broken` lasts until reset().
class ThreadedGradientSync::State {
public:
    State(std::size_t workers, const ThreadedSyncOptions& options)
        : timeout_(options.timeout),
          arrays_(workers),
          present_(workers, false),
          by_address_(workers) {
        if (workers == 0) throw InvalidArgument("gradients of 0 workers can't be synchronised");
        if (options.timeout.count() < 0) {
            throw InvalidArgument(
                fmt::format("the timeout of a gradient sync is {} ns", options.timeout.count()));
        }
    }

    std::size_t workers() const { return arrays_.size(); }

    void sync(std::optional<std::size_t> index, std::span<float> array) {
        std::unique_lock lock(mutex_);
        // Who is early for the next round waits until the last of this one has left: those are on
        // their way, so it needs no deadline.
        changed_.wait(lock, [&] { return phase_ == Phase::gathering || phase_ == Phase::broken; });
        if (phase_ == Phase::broken) throw TimeoutError(problem_);
        const std::size_t place = take_place(index);
        arrays_[place] = array;
        if (++arrived_ == workers()) {
            begin_averaging();
        } else {
            const std::uint64_t round = round_;
            wait_until(lock, [&] { return phase_ != Phase::gathering || round_ != round; });
            if (round_ != round) throw TimeoutError("a gradient sync was reset while it waited");
        }
        if (phase_ == Phase::broken) throw TimeoutError(problem_);
        if (phase_ == Phase::averaging) help(lock);
        leave();
    }

    void reset() {
        const std::scoped_lock lock(mutex_);
        if (phase_ != Phase::gathering && phase_ != Phase::broken) return;
        begin_round();
    }

private:
    enum class Phase { gathering, averaging, refused, broken };

    /// Waits with the deadline of the object; when it passes, the round is given up for everybody.
    template <class Condition>
    void wait_until(std::unique_lock<std::mutex>& lock, Condition condition) {
        if (timeout_.count() == 0) {
            changed_.wait(lock, condition);
        } else if (!changed_.wait_for(lock, timeout_, condition)) {
            give_up();
        }
    }

    void give_up() {
        std::vector<std::size_t> came, missing;
        for (std::size_t w = 0; w < workers(); ++w) (present_[w] ? came : missing).push_back(w);
        problem_ = fmt::format(
            "gradient sync of {} workers: after {:.3g} s only workers {} had come, {} had not; "
            "reset() makes the object usable again",
            workers(), std::chrono::duration<double>(timeout_).count(), came, missing);
        phase_ = Phase::broken;
        changed_.notify_all();
    }

    std::size_t take_place(std::optional<std::size_t> index) {
        const std::size_t place =
            index ? *index
                  : static_cast<std::size_t>(std::ranges::find(present_, false) - present_.begin());
        if (place >= workers() || present_[place]) {
            throw InvalidArgument(
                fmt::format("worker {} is in this round of {} workers already", place, workers()));
        }
        present_[place] = true;
        return place;
    }

    void begin_averaging() {
        problem_ = find_problem();
        phase_ = problem_.empty() ? Phase::averaging : Phase::refused;
        pointers_.clear();
        for (const std::span<float> array : arrays_) pointers_.push_back(array.data());
        const std::size_t length = arrays_[0].size();
        pieces_ = (length + mean_piece - 1) / mean_piece;
        pieces_left_.store(pieces_, std::memory_order_relaxed);
        next_piece_.store(0, std::memory_order_relaxed);
        changed_.notify_all();
    }

    /// Allocates nothing where there is none.
    std::string find_problem() {
        const std::size_t length = arrays_[0].size();
        if (!std::ranges::all_of(arrays_, [&](auto array) { return array.size() == length; })) {
            std::vector<std::size_t> lengths;
            for (const std::span<float> array : arrays_) lengths.push_back(array.size());
            return fmt::format(
                "gradients of different lengths can't be averaged: workers 0 to {} "
                "brought {} elements",
                workers() - 1, lengths);
        }
        for (std::size_t w = 0; w < workers(); ++w) by_address_[w] = w;
        std::ranges::sort(by_address_, std::less<>(),
                          [&](std::size_t w) { return arrays_[w].data(); });
        for (std::size_t i = 1; i < workers() && length > 0; ++i) {
            const std::size_t a = by_address_[i - 1], b = by_address_[i];
            if (arrays_[a].data() + length > arrays_[b].data()) {
                return fmt::format("the arrays of workers {} and {} overlap", a, b);
            }
        }
        return {};
    }

    /// Works off pieces, then waits for those that others still have in hand. That wait has no
    /// deadline: its owners are computing, and until they are done they write into this array.
    void help(std::unique_lock<std::mutex>& lock) {
        lock.unlock();
        const std::size_t length = arrays_[0].size();
        std::size_t done = 0;
        for (;;) {
            const std::size_t piece = next_piece_.fetch_add(1, std::memory_order_relaxed);
            if (piece >= pieces_) break;
            average_range(pointers_, piece * mean_piece,
                          std::min(length, (piece + 1) * mean_piece));
            ++done;
        }
        lock.lock();
        if (pieces_left_.fetch_sub(done, std::memory_order_relaxed) == done) changed_.notify_all();
        changed_.wait(lock, [&] { return pieces_left_.load(std::memory_order_relaxed) == 0; });
    }

    /// Throws what the round has for everybody.
    void leave() {
        const bool refused = phase_ == Phase::refused;
        const std::string problem = problem_;
        if (++left_ == workers()) begin_round();
        if (refused) throw InvalidArgument(problem);
    }

    void begin_round() {
        phase_ = Phase::gathering;
        ++round_;
        arrived_ = left_ = 0;
        present_.assign(workers(), false);
        changed_.notify_all();
    }

    const std::chrono::nanoseconds timeout_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Phase phase_ = Phase::gathering;
    std::uint64_t round_ = 0;
    std::size_t arrived_ = 0;
    std::size_t left_ = 0;
    std::vector<std::span<float>> arrays_;
    std::vector<bool> present_;
    std::vector<std::size_t> by_address_;
    std::string problem_;
    // While averaging: written before anybody is woken.
    std::vector<float*> pointers_;
    std::size_t pieces_ = 0;
    std::atomic<std::size_t> next_piece_ = 0;
    std::atomic<std::size_t> pieces_left_ = 0;
};

ThreadedGradientSync::ThreadedGradientSync(std::size_t num_workers,
                                           const ThreadedSyncOptions& options)
    : state_(std::make_shared<State>(num_workers, options)) {}

ThreadedGradientSync ThreadedGradientSync::worker(std::size_t index) const {
    if (index >= num_workers()) {
        throw InvalidArgument(
            fmt::format("there is no worker {} among {} workers", index, num_workers()));
    }
    ThreadedGradientSync copy = *this;
    copy.index_ = index;
    return copy;
}

void ThreadedGradientSync::sync_gradients(std::span<float> gradients) {
    state_->sync(index_, gradients);
}

bool ThreadedGradientSync::is_distributed() const {
    return num_workers() > 1;
}

std::size_t ThreadedGradientSync::num_workers() const {
    return state_->workers();
}

void ThreadedGradientSync::reset() {
    state_->reset();
}

}  // namespace rondo::training
