// Strategies as values: what a caller names when the choice is not left to the library.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace rondo {

/// How a collective is carried out: a name and, for some strategies, a number. Leave the choice to
/// the library unless you have measured something better:
///
///     comm.all_reduce(ReduceOp::sum, gradients);                                     // automatic
///     comm.all_reduce(ReduceOp::sum, gradients, {.strategy = Strategy::tree(2)});
///
/// A strategy says who sends what to whom. How many thread blocks carry it, and in what chunks, is
/// always the library's choice. All strategies give the same result, except that sums of floats
/// may be rounded differently. A collective that a strategy can't do throws Unsupported.
///
/// A value type: cheap to copy and to compare; safe to use from any thread.
class RONDO_API Strategy {
public:
    /// Automatic.
    Strategy() = default;

    /// The fastest of all others for this machine and size, by simulation.
    static Strategy automatic() { return {}; }
    /// All ranks send to one, which reduces and sends the result back.
    static Strategy centralized();
    /// Reduces up a tree and broadcasts down. Throws InvalidArgument if arity is 0.
    static Strategy tree(std::uint32_t arity);
    /// Slices travel around a ring over the fastest links of the machine.
    static Strategy ring();
    /// Made for the DGX-1: reduces inside each half of the machine to a main GPU, exchanges between
    /// the two mains, and copies back the same way. The tensor is cut into `num_packs` parts that
    /// take turns with the mains. Throws InvalidArgument unless num_packs is positive.
    static Strategy hierarchical_copy(std::int64_t num_packs = 1);
    /// Centralized on a device that you choose. Throws InvalidArgument if it is negative. If the
    /// communicator does not have it, the call throws.
    static Strategy reduction_to_one_device(int device);
    /// Every rank exchanges with every other. One shot: every rank reduces everything, for small
    /// messages. Two shots: every rank reduces its share, then they exchange. 0: whichever is
    /// faster. Throws InvalidArgument for other numbers.
    static Strategy direct(std::uint32_t shots = 0);
    /// Trees computed for this machine, which together use its links as well as any trees can.
    static Strategy forest();

    /// "tree"; "automatic" for the choice.
    std::string_view name() const;
    /// Arity, packs, device or shots; 0 where there is none.
    std::uint32_t parameter() const { return parameter_; }
    bool is_automatic() const { return place_ == 0; }

    bool operator==(const Strategy&) const = default;

    /// A strategy by name. Throws InvalidArgument that names the value and what is known.
    static Strategy named(std::string_view name, std::int64_t parameter = 0);

private:
    friend struct StrategyPlace;

    std::uint32_t place_ = 0;  ///< 1 + its place in the table; 0: automatic
    std::uint32_t parameter_ = 0;
};

/// "ring", "tree(2)", "hierarchical_copy(8)", "direct"
RONDO_API std::string to_string(const Strategy& strategy);
RONDO_API std::ostream& operator<<(std::ostream& stream, const Strategy& strategy);
/// The inverse of to_string(). Throws InvalidArgument that names the text and what is known.
RONDO_API Strategy parse_strategy(std::string_view text);
/// {"strategy": "tree", "arity": 2}
RONDO_API std::string to_json(const Strategy& strategy);
/// The inverse. Throws InvalidArgument that names the offending value.
RONDO_API Strategy strategy_from_json(std::string_view text);
/// All names, "automatic" first.
RONDO_API std::vector<std::string> strategy_names();

/// The strategies of an all-reduce that run on any machine.
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
