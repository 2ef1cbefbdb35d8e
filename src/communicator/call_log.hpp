// The latest calls of a rank, by their numbers: kernels compare digests, and what differs is put
// into words here.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "communicator/call.hpp"

namespace rondo::detail {

/// Keeps so many calls that any that can be in flight is among them, and those of graphs as long as
/// the graphs live. Keeping one allocates nothing unless its lists are longer than ever. Thread
/// safe.
class CallLog {
public:
    enum class Kind { collective, send, receive };

    /// The number of the call, which comes again after a long time.
    std::uint32_t keep(const Call& call, std::size_t segments, Kind kind = Kind::collective);
    /// A graph will make the call again and again: keeps it until forget().
    void pin(std::uint32_t number);
    void forget(std::uint32_t number);

    std::string describe(std::uint32_t number) const;

private:
    struct Entry {
        std::uint32_t number = 0;
        Call call;  ///< its spans point to the vectors below
        std::size_t segments = 0;
        Kind kind = Kind::collective;
        std::vector<std::uint32_t> destinations = {};
        std::vector<std::uint64_t> counts = {};
        std::vector<std::uint64_t> receive_counts = {};
        std::string text() const;
    };
    const Entry* find(std::uint32_t number) const;

    mutable std::mutex mutex_;
    std::uint32_t next_ = 1;
    std::array<Entry, 64> entries_;
    std::map<std::uint32_t, std::string> pinned_;
};

}  // namespace rondo::detail
