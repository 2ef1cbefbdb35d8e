// Strategies as values: what a caller names when the choice is not left to the library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo {

/// How a collective is carried out. All strategies have the same result.
class RONDO_API Strategy {
public:
    enum class Kind : std::uint8_t {
        automatic,                ///< the library chooses
        centralized,              ///< all send to one, it reduces and sends back
        tree,                     ///< reduce up a tree, broadcast down
        ring,                     ///< slices travel around a ring
        hierarchical_copy,        ///< DGX-1: inside each half, between two mains, and back
        reduction_to_one_device,  ///< centralized, on a named device
        direct,                   ///< everybody reads and writes everybody's memory
        forest                    ///< weighted trees computed for the very topology
    };

    /// Automatic.
    Strategy() = default;

    static Strategy automatic() { return {}; }
    static Strategy centralized() { return {Kind::centralized, 0}; }
    /// Throws InvalidArgument unless arity is at least 1.
    static Strategy tree(std::uint32_t arity);
    static Strategy ring() { return {Kind::ring, 0}; }
    /// `num_packs` parts rotate over the main devices. Throws InvalidArgument unless it is above 0.
    static Strategy hierarchical_copy(std::int64_t num_packs = 1);
    /// Throws InvalidArgument for a negative device. Whether the communicator has it shows there.
    static Strategy reduction_to_one_device(int device);
    /// One shot: everybody reduces everything, for small messages. Two shots: everybody reduces its
    /// share. 0: by size. Throws InvalidArgument for other numbers.
    static Strategy direct(std::uint32_t shots = 0);
    /// Trees that together use the links of the machine as well as any trees can.
    static Strategy forest() { return {Kind::forest, 0}; }

    Kind kind() const { return kind_; }
    /// tree only
    std::uint32_t arity() const { return parameter_; }
    /// hierarchical_copy only
    std::uint32_t num_packs() const { return parameter_; }
    /// reduction_to_one_device only
    int device() const { return static_cast<int>(parameter_); }
    /// direct only
    std::uint32_t shots() const { return parameter_; }

    bool operator==(const Strategy&) const = default;

private:
    Strategy(Kind kind, std::uint32_t parameter) : kind_(kind), parameter_(parameter) {}

    Kind kind_ = Kind::automatic;
    std::uint32_t parameter_ = 0;
};

/// "ring", "tree(2)", "hierarchical_copy(8)", "direct"
RONDO_API std::string to_string(const Strategy& strategy);
/// The inverse of to_string(). Throws InvalidArgument that names the text and what is known.
RONDO_API Strategy parse_strategy(std::string_view text);
/// {"strategy": "tree", "arity": 2}
RONDO_API std::string to_json(const Strategy& strategy);
/// The inverse. Throws InvalidArgument that names the offending value.
RONDO_API Strategy strategy_from_json(std::string_view text);

/// The strategies of an all-reduce that any machine can do.
class RONDO_API AllReduceStrategy {
public:
    static AllReduceStrategy centralized() { return AllReduceStrategy(Strategy::centralized()); }
    static AllReduceStrategy tree(std::uint32_t arity) {
        return AllReduceStrategy(Strategy::tree(arity));
    }
    static AllReduceStrategy ring() { return AllReduceStrategy(Strategy::ring()); }
    /// Throws InvalidArgument for any other strategy.
    static AllReduceStrategy from(const Strategy& strategy);

    /// The same in the wider set.
    operator Strategy() const { return strategy_; }
    bool operator==(const AllReduceStrategy&) const = default;

private:
    explicit AllReduceStrategy(const Strategy& strategy) : strategy_(strategy) {}

    Strategy strategy_;
};

inline std::string to_string(const AllReduceStrategy& strategy) {
    return to_string(Strategy(strategy));
}

inline std::string to_json(const AllReduceStrategy& strategy) {
    return to_json(Strategy(strategy));
}

inline AllReduceStrategy all_reduce_strategy_from_json(std::string_view text) {
    return AllReduceStrategy::from(strategy_from_json(text));
}

}  // namespace rondo
