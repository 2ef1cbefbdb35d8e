// What is known of each type.
#include "vgpu/ptx/types.hpp"

#include <array>

namespace vgpu::ptx {
namespace {

constexpr std::array type_table{
    TypeFacts{"none", Type::none, 0, ' '},     TypeFacts{"pred", Type::pred, 4, 'p'},
    TypeFacts{"b8", Type::b8, 1, 'b'},         TypeFacts{"b16", Type::b16, 2, 'b'},
    TypeFacts{"b32", Type::b32, 4, 'b'},       TypeFacts{"b64", Type::b64, 8, 'b'},
    TypeFacts{"b128", Type::b128, 16, 'b'},    TypeFacts{"u8", Type::u8, 1, 'u'},
    TypeFacts{"u16", Type::u16, 2, 'u'},       TypeFacts{"u32", Type::u32, 4, 'u'},
    TypeFacts{"u64", Type::u64, 8, 'u'},       TypeFacts{"s8", Type::s8, 1, 's'},
    TypeFacts{"s16", Type::s16, 2, 's'},       TypeFacts{"s32", Type::s32, 4, 's'},
    TypeFacts{"s64", Type::s64, 8, 's'},       TypeFacts{"f16", Type::f16, 2, 'f'},
    TypeFacts{"f16x2", Type::f16x2, 4, 'f'},   TypeFacts{"bf16", Type::bf16, 2, 'f'},
    TypeFacts{"bf16x2", Type::bf16x2, 4, 'f'}, TypeFacts{"f32", Type::f32, 4, 'f'},
    TypeFacts{"f64", Type::f64, 8, 'f'},       TypeFacts{"tf32", Type::tf32, 4, 'f'},
    TypeFacts{"f32x2", Type::f32x2, 8, 'f'},   TypeFacts{"e4m3", Type::e4m3, 1, 'f'},
    TypeFacts{"e5m2", Type::e5m2, 1, 'f'},     TypeFacts{"e4m3x2", Type::e4m3x2, 2, 'f'},
    TypeFacts{"e5m2x2", Type::e5m2x2, 2, 'f'}, TypeFacts{"u16x2", Type::u16x2, 4, 'u'},
    TypeFacts{"s16x2", Type::s16x2, 4, 's'},   TypeFacts{"u8x4", Type::u8x4, 4, 'u'},
    TypeFacts{"s8x4", Type::s8x4, 4, 's'},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < type_table.size(); ++i) {
        if (static_cast<std::size_t>(type_table[i].type) != i) return false;
    }
    return true;
}
static_assert(in_order(), "the table is indexed by the type");

}  // namespace

const TypeFacts& facts_of(Type type) {
    return type_table[static_cast<std::size_t>(type)];
}

std::optional<Type> type_named(std::string_view name) {
    for (const TypeFacts& facts : type_table) {
        if (facts.name == name && facts.type != Type::none) return facts.type;
    }
    return std::nullopt;
}

}  // namespace vgpu::ptx
