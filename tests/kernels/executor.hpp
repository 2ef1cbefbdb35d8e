// The conformance suite's view of whoever runs device code.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/reduce_step.hpp"
#include "rondo/types.hpp"

namespace rondo::test {

class Executor {
public:
    virtual ~Executor() = default;

    /// Memory that the test and the executor reach. It is valid until release().
    virtual std::byte* allocate(std::size_t bytes) = 0;
    virtual void release() = 0;

    /// Runs the step and returns when it is done. `op` is a fold, or mean with a divisor.
    virtual void reduce(ElementType type, ReduceOp op, const kernels::ReduceStep& step) = 0;
    virtual void copy(const kernels::ReduceStep& step) = 0;
    /// A reduction of one source, with nothing to divide or multiply by, keeps all its bits.
    virtual bool copies_single_sources() const { return false; }
};

/// Executors in the test's own memory: each span is an allocation of its own, so that sanitizers
/// see its ends.
class HostMemoryExecutor : public Executor {
public:
    std::byte* allocate(std::size_t bytes) override {
        return spans_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes)).get();
    }
    void release() override { spans_.clear(); }

private:
    std::vector<std::unique_ptr<std::byte[]>> spans_;
};

/// A parameter of the suite. `make` returns null, with the reason, where the executor can't run.
struct ExecutorChoice {
    std::string name;
    std::function<std::unique_ptr<Executor>(std::string& why_not)> make;
};

inline void PrintTo(const ExecutorChoice& choice, std::ostream* out) {
    *out << choice.name;
}

}  // namespace rondo::test
