// What the communicator knows about its machine beyond who reaches whom, and what it chose there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "communicator/machine.hpp"
#include "strategy/planner.hpp"

namespace rondo::detail {

/// What a choice depends on. All ranks share it.
struct ChoiceKey {
    Collective collective = Collective::all_reduce;
    std::uint32_t root = 0;
    std::uint64_t bytes = 0;  ///< a size_class()
    std::span<const std::uint32_t> destinations = {};
};

struct Decision {
    Strategy strategy = {};
    Cutting cutting = {};
};

/// The topology is detected and choices are simulated when they are first needed; a repeated
/// question allocates nothing. May be asked by several threads.
class Advisor {
public:
    explicit Advisor(const Machine& machine);
    ~Advisor();

    /// The devices are virtual GPUs in one memory. Then nothing is detected nor simulated: direct
    /// was measured to be the fastest there at every size.
    bool is_one_memory() const { return one_memory_; }

    /// The fastest strategy by simulation. Not for one memory.
    Decision decide(const ChoiceKey& key);
    /// All candidates, each simulated, and the reason. Also for one memory.
    Choice explain(const ChoiceKey& key);
    /// Completes what of the machine matters for a strategy: order, halves, trees. Leaves the
    /// problem as it is where the machine could not be looked at.
    void complete(Problem& problem, const Strategy& strategy);

private:
    struct Entry;
    struct Knowledge;

    Knowledge& knowledge();

    const Machine& machine_;
    const bool one_memory_;
    std::mutex mutex_;
    std::unique_ptr<Knowledge> knowledge_;
    std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace rondo::detail
