// How concurrent transfers share what they use: max-min fair.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace rondo::simulation {

/// What one kind of transfer asks of the machine per byte of its chunk.
struct Demand {
    /// Resource and how many bytes of it one byte of the chunk takes, each resource once,
    /// in rising order.
    std::vector<std::pair<std::uint32_t, double>> uses = {};
    double ceiling = 0;       ///< bytes per second that it can't exceed
    double most_at_once = 0;  ///< transfers of this kind
};

/// All transfers grow at the same rate until a resource that they use is full or their ceiling is
/// reached; those stop, the others grow on. Transfers of one kind have one rate. Only what is
/// joined to a change, by resources that running transfers share, is computed anew.
class FairSharing {
public:
    /// Bytes per second of each resource, and all kinds of transfers there will be.
    FairSharing(const std::vector<double>& capacities, const std::vector<Demand>& demands);

    /// One transfer more or less of this kind; share() tells what that means.
    void begin(std::uint32_t kind);
    void end(std::uint32_t kind);
    void share();

    /// Of each transfer of this kind, by the last share().
    double rate(std::uint32_t kind) const { return kinds_[kind].rate; }

private:
    struct Use {
        std::uint32_t resource = 0;
        double amount = 0;
    };
    struct Kind {
        std::uint32_t first_use = 0;
        std::uint32_t last_use = 0;
        std::uint32_t count = 0;
        std::uint32_t shared_count = 0;  ///< by the last share()
        double ceiling = 0;
        double rate = 0;
        bool touched = false;
        bool grows = false;
    };
    struct Resource {
        std::uint32_t first_user = 0;
        std::uint32_t last_user = 0;
        double capacity = 0;
        double left = 0;
        double weight = 0;  ///< of the transfers on it that still grow
        bool reached = false;
    };

    struct Level {
        double rate = 0;  ///< at which the resource is full
        std::uint32_t resource = 0;
    };

    void touch(std::uint32_t kind);
    void reach(const Kind& kind);
    void find_joined();
    void settle(Kind& kind, double rate);
    Level lowest();
    void fill();

    std::vector<Kind> kinds_;
    std::vector<Use> uses_;
    std::vector<Resource> resources_;
    std::vector<std::uint32_t> users_;       ///< kinds
    std::vector<std::uint32_t> touched_;     ///< kinds that changed since the last share()
    std::vector<std::uint32_t> joined_;      ///< resources that are shared anew
    std::vector<Level> levels_;              ///< of these, a heap
    std::vector<std::uint32_t> by_ceiling_;  ///< all kinds
    std::size_t growing_ = 0;                ///< kinds that are shared anew
};

}  // namespace rondo::simulation
