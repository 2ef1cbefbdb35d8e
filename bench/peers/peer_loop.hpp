// What the programs that run a peer library share: join the page, wait for requests, time, answer.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/peers/protocol.hpp"

namespace rondo::bench {

inline std::size_t peer_element_bytes(PeerType type) {
    switch (type) {
        case PeerType::i8:
        case PeerType::u8:
            return 1;
        case PeerType::f16:
            return 2;
        case PeerType::f64:
        case PeerType::i64:
        case PeerType::u64:
            return 8;
        default:
            return 4;
    }
}

/// Maps the page that rondo-bench made. Throws std::runtime_error.
inline PeerPage& open_page(const char* file) {
    const int descriptor = open(file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) throw std::runtime_error(std::string(file) + " can't be opened");
    void* const memory =
        mmap(nullptr, sizeof(PeerPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) throw std::runtime_error(std::string(file) + " can't be mapped");
    return *static_cast<PeerPage*>(memory);
}

/// One rank of a peer library: `Library` has
///   ranks(), rank(), version()
///   barrier(), slowest(double) -> the largest value of all ranks
///   prepare(request, input, output), which throws std::exception for what it can't do
///   call(): does the request once
template <class Library>
class PeerRank {
public:
    PeerRank(PeerPage& page, Library& library) : page_(page), library_(library) {}

    /// Returns when rondo-bench says so or is gone.
    void serve() {
        const auto rank = static_cast<std::uint32_t>(library_.rank());
        page_.processes[rank % most_peer_ranks] = getpid();
        if (rank == 0) {
            std::snprintf(page_.version, sizeof(page_.version), "%s", library_.version().c_str());
        }
        page_.ready.fetch_add(1);
        futex_wake_all(page_.ready);
        for (std::uint32_t seen = 0; wait_for_request(seen); ++seen) {
            if (page_.request.operation == PeerOperation::quit) return;
            answer(seen + 1);
        }
    }

private:
    bool wait_for_request(std::uint32_t seen) {
        while (page_.request_number.load(std::memory_order_acquire) == seen) {
            futex_wait(page_.request_number, seen, 500);
            if (kill(page_.owner, 0) != 0) return false;
        }
        return true;
    }

    /// The next request may only come when everybody has read this one.
    void wait_for_others(std::uint32_t number) {
        const std::uint32_t all = number * static_cast<std::uint32_t>(library_.ranks());
        for (std::uint32_t done = page_.done; done != all; done = page_.done) {
            futex_wait(page_.done, done, 500);
            if (kill(page_.owner, 0) != 0) return;
        }
    }

    void answer(std::uint32_t number) {
        const PeerRequest request = page_.request;
        double seconds = 0;
        std::string problem;
        try {
            seconds = run(request);
        } catch (const std::exception& error) {
            problem = error.what();
        }
        page_.done.fetch_add(1);
        futex_wake_all(page_.done);
        if (library_.rank() != 0) return;
        wait_for_others(number);
        page_.seconds = seconds;
        std::snprintf(page_.problem, sizeof(page_.problem), "%s", problem.c_str());
        page_.answer_number.store(number, std::memory_order_release);
        futex_wake_all(page_.answer_number);
    }

    double run(const PeerRequest& request) {
        const std::size_t element = peer_element_bytes(request.type);
        const std::size_t bytes =
            request.count * element * static_cast<std::size_t>(library_.ranks());
        // Room for all parts, on both sides; touched, so that nothing is timed but the calls.
        if (input_.size() < bytes) input_.assign(bytes, std::byte{0});
        if (output_.size() < bytes) output_.assign(bytes, std::byte{0});
        library_.prepare(request, input_.data(), output_.data());
        for (std::uint32_t i = 0; i < request.warm_up; ++i) library_.call();
        library_.barrier();
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint32_t i = 0; i < request.iterations; ++i) library_.call();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        return library_.slowest(taken.count()) / std::max(request.iterations, 1u);
    }

    PeerPage& page_;
    Library& library_;
    std::vector<std::byte> input_, output_;
};

}  // namespace rondo::bench
