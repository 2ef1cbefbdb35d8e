// Chooses the instruction set of the host loops. The only place that reads RONDO_ISA.
#include <cstdlib>
#include <string>

#include "kernels/host/loops.hpp"

namespace rondo::kernels {
namespace {

Isa parse_isa(std::string_view text) {
    for (const Isa isa : all_isas) {
        if (to_string(isa) == text) {
            return isa;
        }
    }
    throw InvalidArgument("RONDO_ISA is '" + std::string(text) +
                          "'; it must be baseline, avx2 or avx512");
}

Isa choose_isa() {
    if (const char* const forced = std::getenv("RONDO_ISA"); forced != nullptr && *forced != '\0') {
        const Isa isa = parse_isa(forced);
        loops_of(isa);  // throws when the processor lacks it
        return isa;
    }
    return supported_here(Isa::avx512) ? Isa::avx512
           : supported_here(Isa::avx2) ? Isa::avx2
                                       : Isa::baseline;
}

void require_supported(Isa isa) {
    if (!supported_here(isa)) {
        throw Unsupported("this processor does not have the instructions of " +
                          std::string(to_string(isa)));
    }
}

}  // namespace

std::string_view to_string(Isa isa) {
    switch (isa) {
        case Isa::avx512:
            return "avx512";
        case Isa::avx2:
            return "avx2";
        case Isa::baseline:
            return "baseline";
    }
    return "unknown";
}

#if defined(__x86_64__)
namespace {

bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") &&
           __builtin_cpu_supports("fma");
}

bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace

bool supported_here(Isa isa) {
    return isa == Isa::avx512 ? has_avx512() : isa == Isa::avx2 ? has_avx2() : true;
}

const HostLoops& loops_of(Isa isa) {
    require_supported(isa);
    return isa == Isa::avx512 ? avx512::loops : isa == Isa::avx2 ? avx2::loops : baseline::loops;
}
#else
bool supported_here(Isa isa) {
    return isa == Isa::baseline;
}

const HostLoops& loops_of(Isa isa) {
    require_supported(isa);
    return baseline::loops;
}
#endif

Isa chosen_isa() {
    static const Isa isa = choose_isa();
    return isa;
}

}  // namespace rondo::kernels
