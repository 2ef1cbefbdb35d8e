// The scalar types and state spaces of PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vgpu::ptx {

enum class Type : std::uint8_t {
    none,
    pred,
    b8,
    b16,
    b32,
    b64,
    b128,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64,
    tf32,
    f32x2,
    e4m3,
    e5m2,
    e4m3x2,
    e5m2x2,
    u16x2,
    s16x2,
    u8x4,
    s8x4,
};

enum class Space : std::uint8_t { generic, global, shared, local, param, constant };

struct TypeFacts {
    std::string_view name;  ///< without the dot
    Type type;
    std::uint8_t bytes;
    char kind;  ///< 'b', 'u', 's', 'f' or 'p'
};

const TypeFacts& facts_of(Type type);
/// `name` without the dot; nothing for what is no type.
std::optional<Type> type_named(std::string_view name);

inline unsigned bytes_of(Type type) {
    return facts_of(type).bytes;
}
inline bool is_signed(Type type) {
    return facts_of(type).kind == 's';
}
inline bool is_float(Type type) {
    return facts_of(type).kind == 'f';
}

}  // namespace vgpu::ptx
