// Decodes arithmetic, logic and comparisons.
#include "vgpu/ptx/decoder.hpp"

namespace vgpu::ptx {
namespace {

bool is_half(Type type) {
    return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}

/// Types that no arithmetic of ours takes, though they are as wide as others.
bool is_packed(Type type) {
    return type == Type::u16x2 || type == Type::s16x2 || type == Type::u8x4 || type == Type::s8x4 ||
           type == Type::f32x2;
}

FloatModes float_modes(const Decoder& decoder) {
    if (decoder.has("xorsign") || decoder.has("oob")) throw NotSupported{};
    return {.rounding = decoder.rounding(),
            .ftz = decoder.has("ftz"),
            .saturate = decoder.has("sat"),
            .relu = decoder.has("relu"),
            .nan = decoder.has("NaN")};
}

struct Sources {
    Slot a = no_slot, b = no_slot, c = no_slot;
};

/// Operands 1 and up, all of one type.
Sources sources(Decoder& decoder, Type type, std::size_t count) {
    Sources result;
    if (decoder.operands() != count + 1)
        decoder.fail(std::to_string(decoder.operands()) + " operands instead of " +
                     std::to_string(count + 1));
    result.a = decoder.source(1, type);
    if (count > 1) result.b = decoder.source(2, type);
    if (count > 2) result.c = decoder.source(3, type);
    return result;
}

Instruction& emit_with(Decoder& decoder, Handler handler, Slot target, const Sources& from) {
    Instruction& instruction = decoder.emit(handler);
    instruction.d = target;
    instruction.a = from.a;
    instruction.b = from.b;
    instruction.c = from.c;
    return instruction;
}

std::size_t operand_count(std::string_view name) {
    if (name == "fma" || name == "mad" || name == "madc" || name == "sad" || name == "mad24")
        return 3;
    if (name == "neg" || name == "abs" || name == "rcp" || name == "sqrt" || name == "rsqrt" ||
        name == "sin" || name == "cos" || name == "ex2" || name == "lg2" || name == "tanh") {
        return 1;
    }
    return 2;
}

void decode_float(Decoder& decoder, Type type) {
    const std::string_view name = decoder.part(0);
    const FloatModes modes = float_modes(decoder);
    const bool approximate = decoder.has("approx") || decoder.has("full");
    const std::size_t count = operand_count(name);
    const Sources from = sources(decoder, type, count);
    const Slot to = decoder.target(0, type);
    if (is_half(type)) {
        Instruction& i = emit_with(decoder, half_operation(name, type, modes), to, from);
        i.mode = static_cast<std::uint8_t>(modes.ftz | modes.saturate << 1 | modes.relu << 2);
        return;
    }
    if (modes.relu) throw NotSupported{};
    const Handler handler = approximate && count == 1 ? approximate_operation(name, type, modes.ftz)
                                                      : float_operation(name, type, modes);
    emit_with(decoder, handler, to, from).mode = static_cast<std::uint8_t>(modes.rounding);
}

void decode_carry(Decoder& decoder, std::string_view name, Type type) {
    const bool product = name.substr(0, 3) == "mad";
    const Sources from = sources(decoder, type, product ? 3 : 2);
    const Slot to = decoder.target(0, type);
    emit_with(decoder, carry_operation(name, type), to, from).flag = decoder.has("cc");
}

/// mul and mad with a double-width result.
void decode_wide(Decoder& decoder, Type type) {
    const Type result = bytes_of(type) == 2 ? Type::b32 : Type::b64;
    Sources from;
    from.a = decoder.source(1, type);
    from.b = decoder.source(2, type);
    if (decoder.part(0) == "mad") from.c = decoder.source(3, result);
    const Slot to = decoder.target(0, result);
    emit_with(decoder, wide_operation(decoder.part(0), type), to, from);
}

void decode_arithmetic(Decoder& decoder) {
    const Type type = decoder.type(0);
    if (type == Type::none || is_packed(type)) throw NotSupported{};
    if (is_float(type)) return decode_float(decoder, type);
    std::string name(decoder.part(0));
    if (decoder.has("wide")) return decode_wide(decoder, type);
    if (decoder.has("lo")) name += ".lo";
    if (decoder.has("hi")) name += ".hi";
    const bool carries = decoder.has("cc") || name.substr(0, 4) == "addc" ||
                         name.substr(0, 4) == "subc" || name.substr(0, 4) == "madc";
    if (carries) return decode_carry(decoder, name, type);
    if (decoder.has("sat")) name += ".sat";
    if (decoder.has("relu")) throw NotSupported{};
    const Handler handler = require(integer_operation(name, type));
    const Sources from = sources(decoder, type, operand_count(decoder.part(0)));
    const Slot to = decoder.target(0, type);
    emit_with(decoder, handler, to, from);
}

void decode_copysign(Decoder& decoder) {
    const Type type = decoder.type(0);
    const Sources from = sources(decoder, type, 2);
    const Slot to = decoder.target(0, type);
    emit_with(decoder, float_operation("copysign", type, {}), to, from);
}

// ---- bits

void decode_logic(Decoder& decoder) {
    const Type type = decoder.type(0);
    const std::string_view name = decoder.part(0);
    const std::size_t count = name == "not" || name == "cnot" ? 1 : 2;
    const Handler handler =
        type == Type::pred ? predicate_operation(name) : bit_operation(name, type);
    const Sources from = sources(decoder, type, count);
    const Slot to = decoder.target(0, type);
    emit_with(decoder, handler, to, from);
}

void decode_shift(Decoder& decoder) {
    const Type type = decoder.type(0);
    const bool left = decoder.part(0) == "shl";
    const Sources from{decoder.source(1, type), decoder.source(2, Type::u32)};
    const Slot to = decoder.target(0, type);
    emit_with(decoder,
              bit_operation(left              ? "shl"
                            : is_signed(type) ? "shr.s"
                                              : "shr.u",
                            type),
              to, from);
}

void decode_count(Decoder& decoder) {
    const Type type = decoder.type(0);
    std::string name(decoder.part(0));
    if (name == "bfind") name += is_signed(type) ? ".s" : ".u";
    const Sources from{decoder.source(1, type)};
    const Slot to = decoder.target(0, name == "brev" ? type : Type::u32);
    emit_with(decoder, bit_operation(name, type), to, from).mode = decoder.has("shiftamt") ? 1 : 0;
}

void decode_field(Decoder& decoder) {
    const Type type = decoder.type(0);
    const bool insert = decoder.part(0) == "bfi";
    if (insert) {
        const Sources from{decoder.source(1, type), decoder.source(2, type),
                           decoder.source(3, Type::u32)};
        const Slot* const length = decoder.list({decoder.source(4, Type::u32)});
        const Slot to = decoder.target(0, type);
        emit_with(decoder, bit_operation("bfi", type), to, from).list = length;
        return;
    }
    const Sources from{decoder.source(1, type), decoder.source(2, Type::u32),
                       decoder.source(3, Type::u32)};
    const Slot to = decoder.target(0, type);
    emit_with(decoder, bit_operation(is_signed(type) ? "bfe.s" : "bfe.u", type), to, from);
}

void decode_mask(Decoder& decoder) {
    const std::string_view own = decoder.part(0);
    const std::string_view name = own == "bmsk"                ? "bmsk"
                                  : is_signed(decoder.type(0)) ? "szext.s"
                                                               : "szext.u";
    const Sources from{decoder.source(1, Type::u32), decoder.source(2, Type::u32)};
    const Slot to = decoder.target(0, Type::u32);
    emit_with(decoder, bit_operation(name, Type::u32), to, from).mode = decoder.has("wrap") ? 1 : 0;
}

void decode_three_words(Decoder& decoder) {
    const Sources from{decoder.source(1, Type::b32), decoder.source(2, Type::b32),
                       decoder.source(3, Type::b32)};
    const Slot to = decoder.target(0, Type::b32);
    const std::string_view name = decoder.part(0);
    if (name == "lop3") {
        if (decoder.type(0) == Type::pred || decoder.operands() != 5) throw NotSupported{};
        const std::uint64_t table = decoder.immediate(4);
        emit_with(decoder, bit_operation("lop3", Type::b32), to, from).value = table;
    } else if (name == "shf") {
        const bool left = decoder.has("l");
        emit_with(decoder, bit_operation(left ? "shf.l" : "shf.r", Type::b32), to, from).mode =
            decoder.has("clamp") ? 1 : 0;
    } else if (name == "prmt") {
        constexpr std::string_view modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
        std::uint8_t mode = 0;
        for (std::uint8_t n = 1; n < 7; ++n) mode = decoder.has(modes[n]) ? n : mode;
        emit_with(decoder, bit_operation("prmt", Type::b32), to, from).mode = mode;
    } else if (name == "fns") {
        emit_with(decoder, bit_operation("fns", Type::b32), to, from);
    } else {
        Instruction& i = emit_with(decoder, bit_operation(name, Type::b32), to, from);
        i.value = static_cast<std::uint64_t>(is_signed(decoder.type(0))) |
                  static_cast<std::uint64_t>(is_signed(decoder.type(1))) << 1;
        i.mode = decoder.has("hi") ? 1 : 0;
    }
}

// ---- comparison

/// Whether there is and, or, xor among the modifiers: 1, 2, 3; otherwise 0.
std::uint8_t combination(const Decoder& decoder) {
    return decoder.has("and") ? 1 : decoder.has("or") ? 2 : decoder.has("xor") ? 3 : 0;
}

void decode_setp(Decoder& decoder) {
    const Type type = decoder.type(0);
    const std::uint8_t mode = combination(decoder);
    const std::size_t plain = decoder.operands() - (mode != 0 ? 1 : 0);
    if (plain != 3 && plain != 4) decoder.fail("wrong number of operands");
    const std::size_t first = plain - 2;
    const bool pair = type == Type::f16x2 || type == Type::bf16x2;
    if (pair && mode != 0) throw NotSupported{};
    const Sources from{decoder.source(first, type), decoder.source(first + 1, type)};
    bool negated = false;
    const Slot other =
        mode == 0 ? no_slot : decoder.predicate_source(decoder.operand(first + 2), negated);
    const Slot to = decoder.target(0, Type::pred);
    const Slot* const second = plain == 4 ? decoder.list({decoder.target(1, Type::pred)}) : nullptr;
    Instruction& i =
        emit_with(decoder, compare_operation(decoder.part(1), type, decoder.has("ftz")), to, from);
    i.c = other;
    i.mode = mode;
    i.flag = negated;
    i.list = second;
}

std::uint64_t true_bits(Type type) {
    switch (type) {
        case Type::f32:
            return 0x3f800000u;
        case Type::f16:
        case Type::f16x2:
            return 0x3c00u;
        case Type::bf16:
        case Type::bf16x2:
            return 0x3f80u;
        case Type::u16:
        case Type::s16:
            return 0xffffu;
        default:
            return 0xffffffffu;
    }
}

void decode_set(Decoder& decoder) {
    const Type result = decoder.type(0), type = decoder.type(1);
    const std::uint8_t mode = combination(decoder);
    if (decoder.operands() != (mode == 0 ? 3u : 4u)) decoder.fail("wrong number of operands");
    const bool pair = type == Type::f16x2 || type == Type::bf16x2;
    if (pair && (mode != 0 || !is_float(result))) throw NotSupported{};
    const Sources from{decoder.source(1, type), decoder.source(2, type)};
    bool negated = false;
    const Slot other = mode == 0 ? no_slot : decoder.predicate_source(decoder.operand(3), negated);
    const Slot to = decoder.target(0, result);
    Instruction& i = emit_with(
        decoder, set_operation(decoder.part(1), type, result, decoder.has("ftz")), to, from);
    i.c = other;
    i.mode = mode;
    i.flag = negated;
    i.value = true_bits(result);
}

void decode_testp(Decoder& decoder) {
    constexpr std::string_view names[] = {"finite",     "infinite", "number",
                                          "notanumber", "normal",   "subnormal"};
    const Type type = decoder.type(0);
    const Sources from{decoder.source(1, type)};
    const Slot to = decoder.target(0, Type::pred);
    for (std::uint8_t n = 0; n < 6; ++n) {
        if (decoder.part(1) != names[n]) continue;
        emit_with(decoder, test_operation(names[n], type), to, from).mode = n;
        return;
    }
    throw NotSupported{};
}

void decode_selp(Decoder& decoder) {
    const Type type = decoder.type(0);
    bool negated = false;
    const Sources from{decoder.source(1, type), decoder.source(2, type),
                       decoder.predicate_source(decoder.operand(3), negated)};
    const Slot to = decoder.target(0, type);
    emit_with(decoder, select_operation(bytes_of(type)), to, from).flag = negated;
}

void decode_slct(Decoder& decoder) {
    const Type type = decoder.type(0), condition = decoder.type(1);
    const Sources from{decoder.source(1, type), decoder.source(2, type),
                       decoder.source(3, condition)};
    const Slot to = decoder.target(0, type);
    emit_with(decoder, slct_operation(type, condition, decoder.has("ftz")), to, from);
}

constexpr OpcodeDecoder arithmetic_opcodes[] = {
    {"add", &decode_arithmetic},   {"sub", &decode_arithmetic},    {"mul", &decode_arithmetic},
    {"mad", &decode_arithmetic},   {"fma", &decode_arithmetic},    {"div", &decode_arithmetic},
    {"rem", &decode_arithmetic},   {"min", &decode_arithmetic},    {"max", &decode_arithmetic},
    {"neg", &decode_arithmetic},   {"abs", &decode_arithmetic},    {"sad", &decode_arithmetic},
    {"mul24", &decode_arithmetic}, {"mad24", &decode_arithmetic},  {"addc", &decode_arithmetic},
    {"subc", &decode_arithmetic},  {"madc", &decode_arithmetic},   {"rcp", &decode_arithmetic},
    {"sqrt", &decode_arithmetic},  {"rsqrt", &decode_arithmetic},  {"sin", &decode_arithmetic},
    {"cos", &decode_arithmetic},   {"ex2", &decode_arithmetic},    {"lg2", &decode_arithmetic},
    {"tanh", &decode_arithmetic},  {"copysign", &decode_copysign}, {"and", &decode_logic},
    {"or", &decode_logic},         {"xor", &decode_logic},         {"not", &decode_logic},
    {"cnot", &decode_logic},       {"shl", &decode_shift},         {"shr", &decode_shift},
    {"popc", &decode_count},       {"clz", &decode_count},         {"brev", &decode_count},
    {"bfind", &decode_count},      {"bfe", &decode_field},         {"bfi", &decode_field},
    {"bmsk", &decode_mask},        {"szext", &decode_mask},        {"lop3", &decode_three_words},
    {"shf", &decode_three_words},  {"prmt", &decode_three_words},  {"fns", &decode_three_words},
    {"dp4a", &decode_three_words}, {"dp2a", &decode_three_words},  {"setp", &decode_setp},
    {"set", &decode_set},          {"testp", &decode_testp},       {"selp", &decode_selp},
    {"slct", &decode_slct},
};

}  // namespace

std::span<const OpcodeDecoder> arithmetic_decoders() {
    return arithmetic_opcodes;
}

}  // namespace vgpu::ptx
