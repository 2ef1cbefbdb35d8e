// From element types to C++ types, on the host and on devices.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "bench/tool/exact_rule.hpp"

namespace rondo::test {

/// Calls run<T>() with the C++ type of an element type. In device code `run` must be for devices.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class Run>
RONDO_ANYWHERE auto with_element(ElementType type, Run run) {
    switch (type) {
        case ElementType::i8:
            return run.template operator()<std::int8_t>();
        case ElementType::u8:
            return run.template operator()<std::uint8_t>();
        case ElementType::i32:
            return run.template operator()<std::int32_t>();
        case ElementType::u32:
            return run.template operator()<std::uint32_t>();
        case ElementType::i64:
            return run.template operator()<std::int64_t>();
        case ElementType::u64:
            return run.template operator()<std::uint64_t>();
        case ElementType::f16:
            return run.template operator()<__half>();
        case ElementType::bf16:
            return run.template operator()<__nv_bfloat16>();
        case ElementType::f32:
            return run.template operator()<float>();
        case ElementType::f64:
            return run.template operator()<double>();
        case ElementType::f8e4m3:
            return run.template operator()<__nv_fp8_e4m3>();
        default:
            return run.template operator()<__nv_fp8_e5m2>();
    }
}

}  // namespace rondo::test
