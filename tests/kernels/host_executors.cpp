// The conformance suite on the host loops of every instruction set.
#include "kernels/host/loops.hpp"
#include "tests/kernels/conformance.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;

class LoopExecutor : public HostMemoryExecutor {
public:
    LoopExecutor(Isa isa, Stores stores) : loops_(loops_of(isa)), stores_(stores) {}

    void reduce(ElementType type, ReduceOp op, const ReduceStep& step) override {
        find_fold(loops_.reduce, type, op)(step, stores_of(step));
    }
    void copy(const ReduceStep& step) override { loops_.copy(step, stores_of(step)); }

private:
    /// Streaming is only allowed where all destinations lie alike.
    Stores stores_of(const ReduceStep& step) const {
        for (std::uint32_t d = 0; d < step.destination_count; ++d) {
            const auto address = reinterpret_cast<std::uintptr_t>(step.destinations[d]);
            if ((address - reinterpret_cast<std::uintptr_t>(step.destinations[0])) % 64 != 0) {
                return Stores::cached;
            }
        }
        return stores_;
    }

    const HostLoops& loops_;
    Stores stores_;
};

ExecutorChoice loop_choice(Isa isa, Stores stores) {
    const std::string name =
        std::string(to_string(isa)) + (stores == Stores::streaming ? "_streaming" : "");
    return {name,
            [isa, stores](std::string&) { return std::make_unique<LoopExecutor>(isa, stores); }};
}

}  // namespace

/// Instruction sets that this processor lacks are left out here; Isa.EveryOneCanBeTested says
/// which.
std::vector<ExecutorChoice> conformance_executors() {
    std::vector<ExecutorChoice> choices;
    for (const Isa isa : all_isas) {
        if (supported_here(isa)) {
            choices.push_back(loop_choice(isa, Stores::cached));
            choices.push_back(loop_choice(isa, Stores::streaming));
        }
    }
    return choices;
}

}  // namespace rondo::test
