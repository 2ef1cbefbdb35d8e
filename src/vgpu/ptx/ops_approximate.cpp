// What GPUs approximate, computed better than they do; and which float arithmetic this processor
// has.
#include <cmath>

#include "vgpu/ptx/float_helpers.hpp"
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {

namespace baseline {
Handler float_operation(std::string_view name, Type type, const FloatModes& modes);
}
namespace fused {
Handler float_operation(std::string_view name, Type type, const FloatModes& modes);
}

namespace {

struct ApproximateSine {
    static double of(double a) { return std::sin(a); }
};
struct ApproximateCosine {
    static double of(double a) { return std::cos(a); }
};
struct ApproximateExponential {
    static double of(double a) { return std::exp2(a); }
};
struct ApproximateLogarithm {
    static double of(double a) { return std::log2(a); }
};
struct ApproximateTangent {
    static double of(double a) { return std::tanh(a); }
};
struct ApproximateInverseRoot {
    static double of(double a) { return 1.0 / std::sqrt(a); }
};
struct ApproximateRoot {
    static double of(double a) { return std::sqrt(a); }
};
struct ApproximateReciprocal {
    static double of(double a) { return 1.0 / a; }
};

template <class Op, class T, bool ftz>
void approximate(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    each_lane<T>(warp, i.d, [=](unsigned lane) {
        return output<ftz, false>(static_cast<T>(Op::of(static_cast<double>(input<ftz>(a[lane])))));
    });
}

template <class Op>
Handler approximate_of(Type type, bool ftz) {
    if (type == Type::f64) return &approximate<Op, double, false>;
    if (type != Type::f32) return nullptr;
    return ftz ? &approximate<Op, float, true> : &approximate<Op, float, false>;
}

template <class T, class Bits>
void test_finite(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    const unsigned mode = i.mode;
    set_predicate(warp, i.d, lanes_where([=](unsigned lane) {
                      const int kind = std::fpclassify(a[lane]);
                      switch (mode) {
                          case 0:
                              return kind != FP_NAN && kind != FP_INFINITE;
                          case 1:
                              return kind == FP_INFINITE;
                          case 2:
                              return kind != FP_NAN;
                          case 3:
                              return kind == FP_NAN;
                          case 4:
                              return kind == FP_NORMAL || kind == FP_ZERO;
                          default:
                              return kind == FP_SUBNORMAL;
                      }
                  }));
}

}  // namespace

Handler float_operation(std::string_view name, Type type, const FloatModes& modes) {
#if defined(VGPU_PTX_FUSED)
    static const bool has_fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_fused) return fused::float_operation(name, type, modes);
#endif
    return baseline::float_operation(name, type, modes);
}

Handler approximate_operation(std::string_view name, Type type, bool ftz) {
    if (name == "sin") return approximate_of<ApproximateSine>(type, ftz);
    if (name == "cos") return approximate_of<ApproximateCosine>(type, ftz);
    if (name == "ex2") return approximate_of<ApproximateExponential>(type, ftz);
    if (name == "lg2") return approximate_of<ApproximateLogarithm>(type, ftz);
    if (name == "tanh") return approximate_of<ApproximateTangent>(type, ftz);
    if (name == "rsqrt") return approximate_of<ApproximateInverseRoot>(type, ftz);
    if (name == "sqrt") return approximate_of<ApproximateRoot>(type, ftz);
    if (name == "rcp") return approximate_of<ApproximateReciprocal>(type, ftz);
    return nullptr;
}

Handler test_operation(std::string_view, Type type) {
    return type == Type::f32   ? &test_finite<float, std::uint32_t>
           : type == Type::f64 ? &test_finite<double, std::uint64_t>
                               : nullptr;
}

}  // namespace vgpu::ptx
