// The loops of host blocks, compiled once per instruction set and chosen when the program runs.
#pragma once

#include <string_view>

#include "kernels/folds.hpp"
#include "kernels/reduce_step.hpp"

namespace rondo::kernels {

/// How a host loop stores: through the caches, or past them. Streaming stores need destinations
/// that lie alike in their lines of 64 bytes, and are ordered before whatever the calling thread
/// stores after the loop.
enum class Stores : bool { cached, streaming };

using HostLoop = void (*)(const ReduceStep& step, Stores stores);

struct HostLoops {
    FoldTable<HostLoop> reduce;
    HostLoop copy;  ///< counts bytes and has one source
};

/// What loops are compiled for. `baseline` is what every processor of the kind has: SSE2 on x86-64,
/// NEON on aarch64. The others exist on x86-64 only.
enum class Isa { baseline, avx2, avx512 };
inline constexpr std::array<Isa, 3> all_isas{Isa::baseline, Isa::avx2, Isa::avx512};

std::string_view to_string(Isa isa);
bool supported_here(Isa isa);
/// Throws Unsupported when this processor lacks the instructions.
const HostLoops& loops_of(Isa isa);
/// The best this processor has, or what RONDO_ISA names (baseline, avx2, avx512). Read once.
Isa chosen_isa();

namespace baseline {
extern const HostLoops loops;
}
namespace avx2 {
extern const HostLoops loops;
}
namespace avx512 {
extern const HostLoops loops;
}

}  // namespace rondo::kernels
