// Decodes loads, stores, atomics, fences and conversions of addresses.
#include <algorithm>

#include "vgpu/ptx/decoder.hpp"

namespace vgpu::ptx {
namespace {

Space space_of(const Decoder& decoder) {
    for (const std::string_view part : decoder.parts()) {
        const std::string_view word = part.substr(0, part.find(':'));
        if (part == "shared::cluster") throw NotSupported{};
        if (word == "global") return Space::global;
        if (word == "shared") return Space::shared;
        if (word == "local") return Space::local;
        if (word == "param") return Space::param;
        if (word == "const") return Space::constant;
    }
    return Space::generic;
}

bool is_strong(const Decoder& decoder) {
    return decoder.has("volatile") || decoder.has("relaxed") || decoder.has("acquire") ||
           decoder.has("release") || decoder.has("mmio") || decoder.has("cv") || decoder.has("wt");
}

unsigned vector_count(const Decoder& decoder) {
    return decoder.has("v8") ? 8 : decoder.has("v4") ? 4 : decoder.has("v2") ? 2 : 1;
}

struct Registers {
    const Slot* list = nullptr;
    std::uint8_t bytes = 4;
    std::uint8_t count = 1;
};

/// The registers of a load or store; all are of one size.
Registers registers(Decoder& decoder, const Operand& operand, Type type, bool targets) {
    const std::vector<Operand> parts = decoder.elements(operand);
    if (parts.size() != vector_count(decoder)) decoder.fail("a vector of another length");
    Registers result;
    result.count = static_cast<std::uint8_t>(parts.size());
    result.bytes = 0;
    for (const Operand& part : parts) {  // immediates take the size of the registers beside them
        if (part.kind != Operand::Kind::reg) continue;
        std::uint8_t own = 0;
        decoder.loose_source(part, type, own);
        if (result.bytes != 0 && result.bytes != own) throw NotSupported{};
        result.bytes = own;
    }
    if (result.bytes == 0) result.bytes = static_cast<std::uint8_t>(std::max(bytes_of(type), 2u));
    const Type wide = result.bytes == 2 ? Type::b16 : result.bytes == 4 ? Type::b32 : Type::b64;
    std::vector<Slot> slots;
    for (const Operand& part : parts) {
        if (part.kind == Operand::Kind::sink && targets) {
            slots.push_back(no_slot);
        } else if (part.kind == Operand::Kind::reg) {
            slots.push_back(decoder.source(part, wide));
        } else {
            if (is_float(type) && bytes_of(type) != result.bytes) throw NotSupported{};
            slots.push_back(decoder.source(part, is_float(type) ? type : wide));
        }
    }
    result.list = decoder.list(slots);
    return result;
}

void describe(Instruction& i, const Registers& from, const Decoder::Address& address,
              const Decoder& decoder) {
    i.list = from.list;
    i.count = from.count;
    i.register_bytes = from.bytes;
    i.a = address.base;
    i.flag = address.narrow;
    i.value = address.offset;
    i.strong = is_strong(decoder);
    i.is_signed = is_signed(decoder.type(0));
}

void check_parameter(const Decoder& decoder, const Decoder::Address& address, std::size_t bytes) {
    const auto layout = layout_of(decoder.text().prototype.parameters);
    const std::size_t end = layout.empty() ? 0 : layout.back().offset + layout.back().bytes;
    if (address.offset > end || end - address.offset < bytes || address.offset % bytes != 0)
        decoder.fail("an access outside the parameters");
}

void decode_ld(Decoder& decoder) {
    const Type type = decoder.type(0);
    if (bytes_of(type) == 0 || bytes_of(type) > 8) throw NotSupported{};
    const Decoder::Address address = decoder.address(decoder.operand(1), space_of(decoder));
    const Registers to = registers(decoder, decoder.operand(0), type, true);
    if (address.parameter) {
        check_parameter(decoder, address, bytes_of(type) * to.count);
        describe(decoder.emit(load_parameter_operation(bytes_of(type))), to, address, decoder);
        return;
    }
    describe(decoder.emit(load_operation(address.space, bytes_of(type))), to, address, decoder);
}

void decode_st(Decoder& decoder) {
    const Type type = decoder.type(0);
    if (bytes_of(type) == 0 || bytes_of(type) > 8) throw NotSupported{};
    const Decoder::Address address = decoder.address(decoder.operand(0), space_of(decoder));
    if (address.parameter) decoder.fail("a store to a kernel's parameter");
    const Registers from = registers(decoder, decoder.operand(1), type, false);
    describe(decoder.emit(store_operation(address.space, bytes_of(type))), from, address, decoder);
}

std::string_view atomic_name(const Decoder& decoder) {
    for (const std::string_view part : decoder.parts()) {
        for (const std::string_view name :
             {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"}) {
            if (part == name) return name;
        }
    }
    throw NotSupported{};
}

void decode_atom(Decoder& decoder) {
    const bool reduction = decoder.part(0) == "red";
    if (vector_count(decoder) != 1 || decoder.has("async")) throw NotSupported{};
    const Type type = decoder.type(0);
    if (bytes_of(type) > 8) throw NotSupported{};
    const std::size_t at = reduction ? 0 : 1;
    const std::string_view name = atomic_name(decoder);
    const Decoder::Address address = decoder.address(decoder.operand(at), space_of(decoder));
    if (address.parameter) decoder.fail("an atomic on a parameter");
    const Handler handler = require(atomic_operation(name, address.space, type));
    const Slot operand = decoder.source(at + 1, type);
    const Slot wanted = name == "cas" ? decoder.source(at + 2, type) : no_slot;
    const bool unused = reduction || decoder.operand(0).kind == Operand::Kind::sink;
    const Slot old = unused ? no_slot : decoder.target(0, type);
    Instruction& i = decoder.emit(handler);
    i.d = old;
    i.a = address.base;
    i.b = operand;
    i.c = wanted;
    i.flag = address.narrow;
    i.value = address.offset;
}

void decode_cvta(Decoder& decoder) {
    const bool to_generic = !decoder.has("to");
    const Type type = decoder.type(0);
    Space space = space_of(decoder);
    if (space == Space::param && !decoder.text().is_entry) space = Space::local;
    const Slot from = decoder.source(1, type);
    const Slot to = decoder.target(0, type);
    Instruction& i = decoder.emit(address_conversion(space, to_generic, bytes_of(type)));
    i.d = to;
    i.a = from;
}

void decode_isspacep(Decoder& decoder) {
    const Space space = space_of(decoder);
    const Slot from = decoder.source(1, Type::u64);
    const Slot to = decoder.target(0, Type::pred);
    Instruction& i = decoder.emit(is_space_operation(space));
    i.d = to;
    i.a = from;
}

void decode_fence(Decoder& decoder) {
    decoder.emit(fence_operation());
}
void decode_nothing(Decoder& decoder) {
    decoder.emit(nothing_operation());
}

/// A cache policy is a number that nobody looks at.
void decode_createpolicy(Decoder& decoder) {
    const Slot zero = decoder.constant(0, 8);
    const Slot to = decoder.target(0, Type::b64);
    Instruction& i = decoder.emit(move_operation(8));
    i.d = to;
    i.a = zero;
}

/// cp.async of a thread; its groups are complete at once.
void decode_cp(Decoder& decoder) {
    if (decoder.part(1) != "async" || decoder.has("bulk") || decoder.has("mbarrier"))
        throw NotSupported{};
    if (decoder.has("commit_group") || decoder.has("wait_group") || decoder.has("wait_all"))
        return decode_nothing(decoder);
    const Decoder::Address to = decoder.address(decoder.operand(0), Space::shared);
    const Decoder::Address from = decoder.address(decoder.operand(1), Space::global);
    const Handler handler =
        require(copy_async_operation(static_cast<unsigned>(decoder.immediate(2))));
    const bool partial = decoder.operands() > 3 && !decoder.has("L2::cache_hint");
    if (partial && decoder.operand(3).kind == Operand::Kind::reg) {
        const auto& own = decoder.body().registers[decoder.operand(3).index];
        if (own.type == Type::pred) throw NotSupported{};
    }
    const Slot size = partial ? decoder.source(3, Type::u32) : no_slot;
    const Slot* const offset = decoder.list({static_cast<Slot>(from.offset)});
    Instruction& i = decoder.emit(handler);
    i.a = to.base;
    i.flag = to.narrow;
    i.value = to.offset;
    i.b = from.base;
    i.c = size;
    i.list = offset;
}

constexpr OpcodeDecoder memory_opcodes[] = {
    {"ld", &decode_ld},
    {"ldu", &decode_ld},
    {"st", &decode_st},
    {"atom", &decode_atom},
    {"red", &decode_atom},
    {"cvta", &decode_cvta},
    {"isspacep", &decode_isspacep},
    {"fence", &decode_fence},
    {"membar", &decode_fence},
    {"prefetch", &decode_nothing},
    {"prefetchu", &decode_nothing},
    {"discard", &decode_nothing},
    {"applypriority", &decode_nothing},
    {"createpolicy", &decode_createpolicy},
    {"cp", &decode_cp},
    {"griddepcontrol", &decode_nothing},
    {"setmaxnreg", &decode_nothing},
};

}  // namespace

std::span<const OpcodeDecoder> memory_decoders() {
    return memory_opcodes;
}

}  // namespace vgpu::ptx
