// Decodes branches, calls and ends.
#include "vgpu/ptx/decoder.hpp"

namespace vgpu::ptx {
namespace {

void decode_bra(Decoder& decoder) {
    const Operand& target = decoder.operand(0);
    if (target.kind != Operand::Kind::label)
        decoder.fail("the label '" + std::string(target.name) + "' is not defined");
    decoder.emit(branch_operation()).value = target.index;
}

void decode_brx(Decoder& decoder) {
    const Operand& table = decoder.operand(1);
    if (table.kind != Operand::Kind::label || table.index >= decoder.body().tables.size())
        decoder.fail("a table of targets that is not defined");
    const Slot index = decoder.source(0, Type::u32);
    auto& targets =
        decoder.code().tables.emplace_back(decoder.body().tables[table.index].statements);
    Instruction& i = decoder.emit(branch_table_operation());
    i.a = index;
    i.list = targets.data();
    i.value = targets.size();
}

/// Parameters of a call: variables of the .param space.
void add_arguments(const Decoder& decoder, const Operand& list, std::vector<std::uint32_t>& offsets,
                   std::vector<std::uint32_t>& sizes) {
    for (const Operand& element : list.elements) {
        if (element.kind != Operand::Kind::local) throw NotSupported{};
        const Variable& variable = decoder.body().variables[element.index];
        const bool formal =
            decoder.text().is_entry && element.index < decoder.text().prototype.parameters.size();
        if (variable.space != Space::param || formal) throw NotSupported{};
        offsets.push_back(decoder.local_offset(element.index));
        sizes.push_back(static_cast<std::uint32_t>(variable.bytes));
    }
}

Function* direct_target(Decoder& decoder, const Operand& operand) {
    const Symbol symbol = decoder.module().find(decoder.text().text, operand.name);
    if (symbol.kind != Symbol::Kind::function)
        decoder.fail("the function '" + std::string(operand.name) + "' is not defined");
    Function& function = decoder.module().function(symbol.index);
    decoder.code().callees.push_back(&function);
    return &function;
}

void decode_call(Decoder& decoder) {
    std::size_t next = 0;
    Call call;
    if (decoder.operand(0).kind == Operand::Kind::list) {
        add_arguments(decoder, decoder.operand(0), call.results, call.result_bytes);
        next = 1;
    }
    const Operand& target = decoder.operand(next++);
    Slot address = no_slot;
    if (target.kind == Operand::Kind::reg) {
        address = decoder.source(target, Type::u64);
        decoder.code().takes_addresses = true;
    } else if (target.kind == Operand::Kind::symbol) {
        call.target = direct_target(decoder, target);
    } else {
        decoder.fail("a call of what is no function");
    }
    if (next < decoder.operands() && decoder.operand(next).kind == Operand::Kind::list)
        add_arguments(decoder, decoder.operand(next), call.arguments, call.argument_bytes);
    const Call& stored = decoder.code().calls.emplace_back(std::move(call));
    Instruction& i = decoder.emit(call_operation());
    i.a = address;
    i.call = &stored;
}

void decode_ret(Decoder& decoder) {
    decoder.emit(return_operation());
}
void decode_exit(Decoder& decoder) {
    decoder.emit(exit_operation());
}
void decode_trap(Decoder& decoder) {
    decoder.emit(trap_operation());
}
void decode_no_operation(Decoder& decoder) {
    decoder.emit(nothing_operation());
}

constexpr OpcodeDecoder control_opcodes[] = {
    {"bra", &decode_bra},    {"brx", &decode_brx},
    {"call", &decode_call},  {"ret", &decode_ret},
    {"exit", &decode_exit},  {"trap", &decode_trap},
    {"brkpt", &decode_trap}, {"pmevent", &decode_no_operation},
};

}  // namespace

std::span<const OpcodeDecoder> control_decoders() {
    return control_opcodes;
}

}  // namespace vgpu::ptx
