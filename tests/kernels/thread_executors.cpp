// The conformance suite on blocks of real threads, which take the paths of the GPU.
#include "kernels/folds.hpp"
#include "kernels/steps.hpp"
#include "kernels/thread_block.hpp"
#include "tests/kernels/conformance.hpp"

namespace rondo::test {
namespace {

using namespace rondo::kernels;

/// Each pair's body for blocks of real threads.
struct ThreadBody {
    using Run = void (*)(ThreadBlock&, const ReduceStep&);
    template <ElementType type, ReduceOp op>
    constexpr Run operator()() const {
        return
            [](ThreadBlock& block, const ReduceStep& step) { reduce_step<type, op>(block, step); };
    }
};

class ThreadExecutor : public HostMemoryExecutor {
public:
    void reduce(ElementType type, ReduceOp op, const ReduceStep& step) override {
        static constexpr auto bodies = make_fold_table<ThreadBody::Run>(ThreadBody{});
        run_threads({.blocks = 1, .threads = 5},
                    [&](ThreadBlock& block) { find_fold(bodies, type, op)(block, step); });
    }
    void copy(const ReduceStep& step) override {
        run_threads({.blocks = 1, .threads = 3},
                    [&](ThreadBlock& block) { copy_step(block, step); });
    }
};

}  // namespace

std::vector<ExecutorChoice> conformance_executors() {
    return {{"threads", [](std::string&) { return std::make_unique<ThreadExecutor>(); }}};
}

}  // namespace rondo::test
