// How rondo-bench and the programs that run a peer library talk: one page of shared memory.
//
// A peer's ranks are processes. Between turns they must not use a core, or they would slow down
// whoever is measured then; MPI's own waits spin. So every rank sleeps on a futex in the page until
// rondo-bench has written the next request, and only then enters its library.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace rondo::bench {

enum class PeerOperation : std::uint32_t {
    quit,
    all_reduce,
    reduce,
    broadcast,
    reduce_scatter,
    all_gather,
    all_to_all,
    gather,
    scatter,
    sendrecv
};

/// Element types that all peers have; others are refused by the peer.
enum class PeerType : std::uint32_t { f32, f64, i8, u8, i32, u32, i64, u64, f16 };
enum class PeerReduction : std::uint32_t { sum, prod, min, max };

struct PeerRequest {
    PeerOperation operation = PeerOperation::quit;
    PeerType type = PeerType::f32;
    PeerReduction reduction = PeerReduction::sum;
    std::uint32_t root = 0;
    std::uint64_t count = 0;  ///< elements, of one part where there are parts
    std::uint32_t in_place = 0;
    std::uint32_t warm_up = 0;
    std::uint32_t iterations = 1;
};

inline constexpr std::uint32_t most_peer_ranks = 64;

struct PeerPage {
    std::atomic<std::uint32_t> request_number;  ///< grows with each request
    std::atomic<std::uint32_t> answer_number;   ///< of the last request that was answered
    std::atomic<std::uint32_t> ready;           ///< ranks that have joined
    std::atomic<std::uint32_t> done;            ///< requests that ranks have done, all together
    std::int32_t owner;                         ///< process of rondo-bench
    std::uint32_t ranks;
    PeerRequest request;
    double seconds;       ///< of one iteration, of the slowest rank
    std::uint64_t wrong;  ///< elements that the peer found wrong
    char problem[200];    ///< empty: none
    char version[100];    ///< "Open MPI 4.1.4"
    std::int32_t processes[most_peer_ranks];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps while *word == value, at most that long.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long milliseconds) {
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace rondo::bench
