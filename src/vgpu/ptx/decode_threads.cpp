// Decodes barriers and what the lanes of a warp do together.
#include "vgpu/ptx/decoder.hpp"

namespace vgpu::ptx {
namespace {

/// bar and barrier; reductions become two instructions, the second writes the result.
void decode_barrier(Decoder& decoder) {
    if (decoder.has("cluster")) throw NotSupported{};
    if (decoder.has("warp")) {
        const Slot members = decoder.source(0, Type::b32);
        decoder.emit(warp_barrier_operation()).a = members;
        return;
    }
    const bool reduction = decoder.has("red");
    if (!reduction && !decoder.has("sync") && !decoder.has("arrive")) throw NotSupported{};
    std::size_t next = reduction ? 1 : 0;
    const Slot number = decoder.source(next++, Type::u32);
    const std::size_t rest = decoder.operands() - next - (reduction ? 1 : 0);
    const Slot threads = rest > 0 ? decoder.source(next++, Type::u32) : no_slot;
    bool negated = false;
    const Slot value =
        reduction ? decoder.predicate_source(decoder.operand(next), negated) : no_slot;
    const bool count = decoder.has("popc");
    const Slot result = !reduction ? no_slot : decoder.target(0, count ? Type::u32 : Type::pred);
    Instruction& i = decoder.emit(barrier_operation());
    i.a = number;
    i.b = threads;
    i.c = value;
    i.flag = negated;
    i.mode = decoder.has("arrive") ? 1 : 0;
    if (!reduction) return;
    Instruction& second = decoder.emit(barrier_result_operation());
    second.a = number;
    second.d = result;
    second.mode = count ? 4 : decoder.has("and") ? 2 : 3;
}

/// Results are `d` or `d|p`.
struct Results {
    Slot value = no_slot, predicate = no_slot;
    std::size_t next = 1;
};

Results results(Decoder& decoder, std::size_t without_predicate) {
    Results result;
    const bool both = decoder.operands() > without_predicate;
    if (decoder.operand(0).kind != Operand::Kind::sink) result.value = decoder.target(0, Type::b32);
    if (both && decoder.operand(1).kind != Operand::Kind::sink)
        result.predicate = decoder.target(1, Type::pred);
    result.next = both ? 2 : 1;
    return result;
}

void decode_shfl(Decoder& decoder) {
    const bool sync = decoder.part(1) == "sync";
    const Results to = results(decoder, sync ? 5 : 4);
    const Slot a = decoder.source(to.next, Type::b32);
    const Slot b = decoder.source(to.next + 1, Type::b32);
    const Slot c = decoder.source(to.next + 2, Type::b32);
    const Slot members = sync ? decoder.source(to.next + 3, Type::b32) : no_slot;
    const Slot* const list = decoder.list({members, to.predicate});
    Instruction& i = decoder.emit(shuffle_operation(decoder.part(sync ? 2 : 1)));
    i.d = to.value;
    i.a = a;
    i.b = b;
    i.c = c;
    i.list = list;
}

void decode_vote(Decoder& decoder) {
    const bool sync = decoder.part(1) == "sync";
    const std::string_view mode = decoder.part(sync ? 2 : 1);
    bool negated = false;
    const Slot a = decoder.predicate_source(decoder.operand(1), negated);
    const Slot members = sync ? decoder.source(2, Type::b32) : no_slot;
    const Slot to = decoder.target(0, mode == "ballot" ? Type::b32 : Type::pred);
    Instruction& i = decoder.emit(vote_operation(mode));
    i.d = to;
    i.a = a;
    i.c = members;
    i.flag = negated;
}

void decode_match(Decoder& decoder) {
    const Type type = decoder.type(0);
    const Results to = results(decoder, 3);
    const Slot a = decoder.source(to.next, type);
    const Slot members = decoder.source(to.next + 1, Type::b32);
    const Slot* const list = decoder.list({to.predicate});
    Instruction& i = decoder.emit(match_operation(decoder.part(1), bytes_of(type)));
    i.d = to.value;
    i.a = a;
    i.c = members;
    i.list = list;
}

void decode_redux(Decoder& decoder) {
    const Type type = decoder.type(0);
    const Slot a = decoder.source(1, type);
    const Slot members = decoder.source(2, Type::b32);
    const Slot to = decoder.target(0, type);
    Instruction& i = decoder.emit(redux_operation(decoder.part(2), type));
    i.d = to;
    i.a = a;
    i.c = members;
}

void decode_elect(Decoder& decoder) {
    const Slot value =
        decoder.operand(0).kind == Operand::Kind::sink ? no_slot : decoder.target(0, Type::b32);
    const Slot* const list = decoder.list({decoder.target(1, Type::pred)});
    const Slot members = decoder.source(2, Type::b32);
    Instruction& i = decoder.emit(elect_operation());
    i.d = value;
    i.c = members;
    i.list = list;
}

void decode_activemask(Decoder& decoder) {
    const Slot to = decoder.target(0, Type::b32);
    decoder.emit(activemask_operation()).d = to;
}

void decode_nanosleep(Decoder& decoder) {
    decoder.emit(nanosleep_operation());
}

constexpr OpcodeDecoder thread_opcodes[] = {
    {"bar", &decode_barrier}, {"barrier", &decode_barrier},       {"shfl", &decode_shfl},
    {"vote", &decode_vote},   {"match", &decode_match},           {"redux", &decode_redux},
    {"elect", &decode_elect}, {"activemask", &decode_activemask}, {"nanosleep", &decode_nanosleep},
};

}  // namespace

std::span<const OpcodeDecoder> thread_decoders() {
    return thread_opcodes;
}

}  // namespace vgpu::ptx
