// Decodes mov and cvt.
#include "vgpu/ptx/decoder.hpp"

namespace vgpu::ptx {
namespace {

bool is_pair(Type type) {
    return type == Type::f16x2 || type == Type::bf16x2 || type == Type::e4m3x2 ||
           type == Type::e5m2x2;
}

Type part_type(unsigned bytes) {
    return bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
}

/// mov.b64 %rd, {%r1, %r2}
void decode_pack(Decoder& decoder, Type type) {
    const auto& parts = decoder.operand(1).elements;
    const auto count = static_cast<unsigned>(parts.size());
    const Handler handler = require(pack_operation(count, bytes_of(type)));
    std::vector<Slot> slots;
    for (const Operand& part : parts)
        slots.push_back(decoder.source(part, part_type(bytes_of(type) / count)));
    const Slot to = decoder.target(0, type);
    const Slot* const list = decoder.list(slots);
    Instruction& i = decoder.emit(handler);
    i.d = to;
    i.list = list;
}

/// mov.b64 {%r1, %r2}, %rd
void decode_unpack(Decoder& decoder, Type type) {
    const auto& parts = decoder.operand(0).elements;
    const auto count = static_cast<unsigned>(parts.size());
    const Handler handler = require(unpack_operation(count, bytes_of(type)));
    const Slot from = decoder.source(1, type);
    std::vector<Slot> slots;
    for (const Operand& part : parts) {
        const bool unused = part.kind == Operand::Kind::sink;
        slots.push_back(unused ? no_slot : decoder.target(part, part_type(bytes_of(type) / count)));
    }
    const Slot* const list = decoder.list(slots);
    Instruction& i = decoder.emit(handler);
    i.a = from;
    i.list = list;
}

void decode_mov(Decoder& decoder) {
    const Type type = decoder.type(0);
    if (decoder.operand(1).kind == Operand::Kind::vector) return decode_pack(decoder, type);
    if (decoder.operand(0).kind == Operand::Kind::vector) return decode_unpack(decoder, type);
    const Slot from = decoder.source(1, type);
    const Slot to = decoder.target(0, type);
    Instruction& i = decoder.emit(type == Type::pred ? predicate_operation("mov")
                                                     : move_operation(bytes_of(type)));
    i.d = to;
    i.a = from;
}

ConvertModes convert_modes(const Decoder& decoder) {
    ConvertModes modes;
    modes.rounding = decoder.rounding();
    modes.to_integral =
        decoder.has("rni") || decoder.has("rzi") || decoder.has("rmi") || decoder.has("rpi");
    modes.saturate = decoder.has("sat");
    modes.satfinite = decoder.has("satfinite");
    modes.ftz = decoder.has("ftz");
    modes.relu = decoder.has("relu");
    return modes;
}

std::uint64_t packed(const ConvertModes& modes) {
    return static_cast<std::uint64_t>(modes.rounding) |
           static_cast<std::uint64_t>(modes.to_integral) << 3 |
           static_cast<std::uint64_t>(modes.saturate) << 4 |
           static_cast<std::uint64_t>(modes.satfinite) << 5 |
           static_cast<std::uint64_t>(modes.ftz) << 6 | static_cast<std::uint64_t>(modes.relu) << 7;
}

void decode_convert_pair(Decoder& decoder, const ConvertModes& modes) {
    const Type to = decoder.type(0), from = decoder.type(1);
    const Handler handler = require(convert_pair_operation(to, from, modes));
    const bool two = from == Type::f32;
    if (decoder.operands() != (two ? 3u : 2u)) throw NotSupported{};
    const Slot a = decoder.source(1, from);
    const Slot b = two ? decoder.source(2, from) : no_slot;
    const Slot target = decoder.target(0, to);
    Instruction& i = decoder.emit(handler);
    i.d = target;
    i.a = a;
    i.b = b;
    i.value = packed(modes);
}

void decode_cvt(Decoder& decoder) {
    const Type to = decoder.type(0), from = decoder.type(1);
    if (from == Type::none || decoder.has("pack")) throw NotSupported{};
    const ConvertModes modes = convert_modes(decoder);
    if (is_pair(to) || is_pair(from)) return decode_convert_pair(decoder, modes);
    const Handler handler = require(convert_operation(to, from, modes));
    std::uint8_t source_bytes = 0, target_bytes = 0;
    const Slot a = decoder.loose_source(decoder.operand(1), from, source_bytes);
    const Slot d = decoder.loose_target(decoder.operand(0), to, target_bytes);
    if (d == no_slot) return;
    Instruction& i = decoder.emit(handler);
    i.d = d;
    i.a = a;
    i.register_bytes = source_bytes;
    i.mode = target_bytes;
    i.value = packed(modes);
}

constexpr OpcodeDecoder move_opcodes[] = {{"mov", &decode_mov}, {"cvt", &decode_cvt}};

}  // namespace

std::span<const OpcodeDecoder> move_decoders() {
    return move_opcodes;
}

}  // namespace vgpu::ptx
