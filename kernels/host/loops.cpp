// All loops of a host block for one instruction set. CMake compiles this file several times, each
// time with other -m flags and another RONDO_ISA; nothing but that namespace may leave it, or code
// for one processor would run on another.
#include "kernels/host/loops.hpp"

#include "kernels/host/codecs.hpp"

namespace rondo::kernels::RONDO_ISA {
namespace {

/// Streaming stores begin at an aligned vector, which a destination between two elements never
/// reaches.
template <class Codec, ReduceOp op>
void run_loop(const ReduceStep& step, Stores stores) {
    [[maybe_unused]] const std::conditional_t<HasCarefulCodec<Codec>, SubnormalsCount, bool>
        guard{};
    const bool can_align =
        reinterpret_cast<std::uintptr_t>(step.destinations[0]) % Codec::element_bytes == 0;
    const VectorLanes lanes{.streaming = stores == Stores::streaming && can_align};
    ReduceLoop<VectorLanes, Codec, op>(lanes, step).run();
    if (lanes.streaming) {
        finish_streaming();
    }
}

struct MakeLoop {
    template <ElementType type, ReduceOp op>
    constexpr HostLoop operator()() const {
        return &run_loop<CodecOf<type, op>, op>;
    }
};

}  // namespace

constinit const HostLoops loops{make_fold_table<HostLoop>(MakeLoop{}),
                                &run_loop<PlainCodec<std::uint8_t>, ReduceOp::sum>};

}  // namespace rondo::kernels::RONDO_ISA
