// From an element type that the user named to the C++ type that stands for it.
#pragma once

#include <type_traits>

#include "rondo/element.hpp"

namespace rondo::bench {

/// Calls body(std::type_identity<T>) for the C++ type of `type` and returns what it returns.
template <class Body>
decltype(auto) with_type(ElementType type, Body body) {
    using std::type_identity;
    switch (type) {
        case ElementType::i8:
            return body(type_identity<std::int8_t>());
        case ElementType::u8:
            return body(type_identity<std::uint8_t>());
        case ElementType::i32:
            return body(type_identity<std::int32_t>());
        case ElementType::u32:
            return body(type_identity<std::uint32_t>());
        case ElementType::i64:
            return body(type_identity<std::int64_t>());
        case ElementType::u64:
            return body(type_identity<std::uint64_t>());
        case ElementType::f16:
            return body(type_identity<__half>());
        case ElementType::bf16:
            return body(type_identity<__nv_bfloat16>());
        case ElementType::f64:
            return body(type_identity<double>());
        case ElementType::f8e4m3:
            return body(type_identity<__nv_fp8_e4m3>());
        case ElementType::f8e5m2:
            return body(type_identity<__nv_fp8_e5m2>());
        case ElementType::f32:
            break;
    }
    return body(type_identity<float>());
}

}  // namespace rondo::bench
