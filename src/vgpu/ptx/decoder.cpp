// What decoding all kinds of statements shares: operands, constants, variables, targets.
#include "vgpu/ptx/decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

namespace vgpu::ptx {
namespace {

constexpr std::size_t lane_alignment = 64;

/// Registers of 8 bits are kept in 16.
unsigned register_size(Type type) {
    return std::max(bytes_of(type), 2u);
}

std::size_t aligned(std::size_t offset, std::size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

const std::unordered_map<std::string_view, void (*)(Decoder&)>& decoders() {
    static const auto table = [] {
        std::unordered_map<std::string_view, void (*)(Decoder&)> result;
        for (const auto family : {arithmetic_decoders(), move_decoders(), memory_decoders(),
                                  control_decoders(), thread_decoders()}) {
            for (const OpcodeDecoder& entry : family) result.emplace(entry.name, entry.decode);
        }
        return result;
    }();
    return table;
}

struct NamedSpecial {
    std::string_view name;
    Special special;
    unsigned bytes;
};

constexpr NamedSpecial special_table[] = {
    {"%tid.x", Special::tid_x, 4},
    {"%tid.y", Special::tid_y, 4},
    {"%tid.z", Special::tid_z, 4},
    {"%ntid.x", Special::ntid_x, 4},
    {"%ntid.y", Special::ntid_y, 4},
    {"%ntid.z", Special::ntid_z, 4},
    {"%ctaid.x", Special::ctaid_x, 4},
    {"%ctaid.y", Special::ctaid_y, 4},
    {"%ctaid.z", Special::ctaid_z, 4},
    {"%nctaid.x", Special::nctaid_x, 4},
    {"%nctaid.y", Special::nctaid_y, 4},
    {"%nctaid.z", Special::nctaid_z, 4},
    {"%laneid", Special::laneid, 4},
    {"%warpid", Special::warpid, 4},
    {"%nwarpid", Special::nwarpid, 4},
    {"%lanemask_eq", Special::lanemask_eq, 4},
    {"%lanemask_le", Special::lanemask_le, 4},
    {"%lanemask_lt", Special::lanemask_lt, 4},
    {"%lanemask_ge", Special::lanemask_ge, 4},
    {"%lanemask_gt", Special::lanemask_gt, 4},
    {"%smid", Special::smid, 4},
    {"%nsmid", Special::nsmid, 4},
    {"%gridid", Special::gridid, 8},
    {"%dynamic_smem_size", Special::dynamic_smem_size, 4},
    {"%total_smem_size", Special::total_smem_size, 4},
    {"%envreg1", Special::envreg1, 4},
    {"%envreg2", Special::envreg2, 4},
    // Clusters of one block.
    {"%cluster_ctaid.x", Special::zero, 4},
    {"%cluster_ctaid.y", Special::zero, 4},
    {"%cluster_ctaid.z", Special::zero, 4},
    {"%cluster_nctaid.x", Special::one, 4},
    {"%cluster_nctaid.y", Special::one, 4},
    {"%cluster_nctaid.z", Special::one, 4},
    {"%cluster_ctarank", Special::zero, 4},
    {"%cluster_nctarank", Special::one, 4},
    {"%clusterid.x", Special::ctaid_x, 4},
    {"%clusterid.y", Special::ctaid_y, 4},
    {"%clusterid.z", Special::ctaid_z, 4},
    {"%nclusterid.x", Special::nctaid_x, 4},
    {"%nclusterid.y", Special::nctaid_y, 4},
    {"%nclusterid.z", Special::nctaid_z, 4},
};

}  // namespace

Decoder::Decoder(const LinkedModule& module, const FunctionText& text)
    : module_(module), text_(text), body_(parse_body(text)), code_(std::make_unique<Code>()) {
    code_->text = &text;
    code_->register_bytes = warp_lanes * sizeof(std::uint64_t);  // the frame's local offset
    registers_.assign(body_.registers.size(), no_slot);
}

std::unique_ptr<Code> Decoder::run() {
    place_variables();
    for (const Statement& statement : body_.statements) {
        first_instruction_.push_back(static_cast<std::uint32_t>(code_->instructions.size()));
        decode_statement(statement);
    }
    first_instruction_.push_back(static_cast<std::uint32_t>(code_->instructions.size()));
    emit(fall_off_operation());
    fix_targets();
    const std::size_t bytes = code_->constants.size() + lane_alignment;
    std::shared_ptr<std::byte[]> memory(new std::byte[bytes]);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    std::byte* const begin = memory.get() + (0 - address) % lane_alignment;
    std::copy(code_->constants.begin(), code_->constants.end(), begin);
    code_->pool = std::shared_ptr<std::byte[]>(memory, begin);
    return std::move(code_);
}

void Decoder::fail(const std::string& what) const {
    const std::string line =
        statement_ == nullptr ? "" : "PTX line " + std::to_string(statement_->line) + ": ";
    const std::string opcode =
        statement_ == nullptr ? "" : " in '" + std::string(statement_->opcode) + "'";
    throw Error(text_.name + ": " + line + what + opcode);
}

// ---- variables

void Decoder::place_variables() {
    if (text_.is_entry) {
        bool common = module_.common_shared_bytes() != 0;
        code_->shared_end = common ? module_.common_shared_bytes() : 0;
    }
    for (std::size_t i = 0; i < body_.variables.size(); ++i) place_variable(i);
    const auto& results = text_.prototype.results;
    const auto& parameters = text_.prototype.parameters;
    if (text_.is_entry) return;
    for (std::size_t i = 0; i < results.size() + parameters.size(); ++i) {
        const bool result = i < results.size();
        const auto bytes = static_cast<std::uint32_t>(body_.variables[i].bytes);
        (result ? code_->results : code_->formals).push_back(local_offset(i));
        (result ? code_->result_sizes : code_->formal_bytes).push_back(bytes);
    }
}

void Decoder::place_variable(std::size_t index) {
    const Variable& variable = body_.variables[index];
    const std::size_t alignment = std::max<std::size_t>(variable.alignment, 1);
    std::size_t offset = 0;
    if (text_.is_entry && index < text_.prototype.parameters.size()) {
        offset = layout_of(text_.prototype.parameters)[index].offset;
    } else if (variable.space == Space::shared) {
        if (variable.is_extern) {
            offset = 0;
        } else if (text_.is_entry) {
            offset = aligned(code_->shared_end, alignment);
            code_->shared_end = offset + variable.bytes;
        } else {
            offset = module_.function_shared(text_, index);
        }
    } else if (variable.space == Space::local || variable.space == Space::param) {
        offset = aligned(code_->local_bytes, std::max<std::size_t>(alignment, 8));
        code_->local_bytes = offset + variable.bytes;
        if (code_->local_bytes > (std::size_t{1} << 24)) fail("more than 16 MiB of local memory");
    } else {
        fail("the variable '" + variable.name + "' must be declared outside functions");
    }
    offsets_.push_back(offset);
}

std::uint32_t Decoder::local_offset(std::size_t variable) const {
    return static_cast<std::uint32_t>(offsets_[variable]);
}

// ---- statements

void Decoder::split_opcode() {
    parts_.clear();
    types_.clear();
    std::string_view rest = statement_->opcode;
    while (!rest.empty()) {
        const std::size_t point = rest.find('.');
        const std::string_view word = rest.substr(0, point);
        rest = point == std::string_view::npos ? "" : rest.substr(point + 1);
        parts_.push_back(word);
        if (parts_.size() > 1) {
            if (const auto type = type_named(word)) types_.push_back(*type);
        }
    }
}

void Decoder::decode_statement(const Statement& statement) {
    statement_ = &statement;
    split_opcode();
    const std::size_t first = code_->instructions.size();
    try {
        const auto found = decoders().find(parts_.empty() ? "" : parts_[0]);
        if (found == decoders().end()) throw NotSupported{};
        found->second(*this);
    } catch (const NotSupported&) {
        code_->unsupported.emplace_back(statement.opcode);
    }
    if (statement.guard.kind == Operand::Kind::none) return;
    const Slot guard = source(statement.guard, Type::pred);
    for (std::size_t i = first; i < code_->instructions.size(); ++i) {
        code_->instructions[i].guard = guard;
        code_->instructions[i].guard_flip = statement.guard.negated ? all_lanes : 0;
    }
}

bool Decoder::has(std::string_view modifier) const {
    return std::find(parts_.begin() + 1, parts_.end(), modifier) != parts_.end();
}

const Operand& Decoder::operand(std::size_t index) const {
    if (index >= statement_->operands.size())
        fail("operand " + std::to_string(index + 1) + " is missing");
    return statement_->operands[index];
}

Rounding Decoder::rounding() const {
    for (const std::string_view word : parts_) {
        if (word == "rz" || word == "rzi") return Rounding::zero;
        if (word == "rm" || word == "rmi") return Rounding::down;
        if (word == "rp" || word == "rpi") return Rounding::up;
        if (word == "rna") return Rounding::nearest_away;
        if (word == "rs") throw NotSupported{};
    }
    return Rounding::nearest;
}

/// Branches were written with numbers of statements.
void Decoder::fix_targets() {
    for (Instruction& instruction : code_->instructions) {
        if (instruction.run == branch_operation())
            instruction.value = first_instruction_[instruction.value];
    }
    for (auto& table : code_->tables) {
        for (Slot& target : table) target = first_instruction_[target];
    }
}

// ---- operands

Slot Decoder::register_slot(std::uint32_t index) {
    Slot& slot = registers_[index];
    if (slot == no_slot) {
        const Type type = body_.registers[index].type;
        slot = type == Type::pred ? temporary(0) : temporary(register_size(type));
    }
    return slot;
}

/// 0 bytes: a predicate.
Slot Decoder::temporary(unsigned bytes) {
    if (bytes > 8) throw NotSupported{};
    const std::size_t size = bytes == 0 ? sizeof(std::uint32_t) : warp_lanes * bytes;
    const std::size_t offset = aligned(code_->register_bytes, bytes == 0 ? 4 : lane_alignment);
    code_->register_bytes = offset + size;
    return make_slot(Base::frame, offset);
}

Slot Decoder::constant(std::uint64_t bits, unsigned bytes) {
    const auto found = constants_.find({bits, bytes});
    if (found != constants_.end()) return found->second;
    const std::size_t offset = aligned(code_->constants.size(), lane_alignment);
    code_->constants.resize(offset + warp_lanes * std::max(bytes, 4u));
    for (unsigned lane = 0; lane < (bytes == 0 ? 1 : warp_lanes); ++lane) {
        const unsigned size = bytes == 0 ? 4 : bytes;
        std::memcpy(code_->constants.data() + offset + lane * size, &bits, size);
    }
    const Slot slot = make_slot(Base::constants, offset);
    constants_.emplace(std::pair{bits, bytes}, slot);
    return slot;
}

Slot Decoder::special(std::string_view name, Type type) {
    if (const Handler clock = clock_operation(name)) {
        const unsigned bytes = name == "%clock64" || name == "%globaltimer" ? 8 : 4;
        if (bytes_of(type) != bytes) throw NotSupported{};
        const Slot slot = temporary(bytes);
        emit(clock).d = slot;
        return slot;
    }
    for (const NamedSpecial& entry : special_table) {
        if (entry.name != name) continue;
        const unsigned wanted = bytes_of(type);
        if (wanted == entry.bytes) return special_slot(entry.special);
        if (wanted == 8) return widened(special_slot(entry.special));
        if (wanted == 4 && entry.bytes == 8) {
            const Slot slot = temporary(4);
            Instruction& narrow = emit(convert_operation(Type::u32, Type::u64, {}));
            narrow.d = slot;
            narrow.a = special_slot(entry.special);
            narrow.register_bytes = 8;
            narrow.mode = 4;
            return slot;
        }
    }
    throw NotSupported{};
}

Slot Decoder::widened(Slot a) {
    const Slot slot = temporary(8);
    Instruction& widen = emit(convert_operation(Type::u64, Type::u32, {}));
    widen.d = slot;
    widen.a = a;
    widen.register_bytes = 4;
    widen.mode = 8;
    return slot;
}

Slot Decoder::sum(Slot a, std::uint64_t offset, unsigned bytes) {
    if (offset == 0) return a;
    const Slot slot = temporary(bytes);
    const Slot addend = constant(offset, bytes);
    Instruction& add = emit(integer_operation("add", bytes == 8 ? Type::u64 : Type::u32));
    add.d = slot;
    add.a = a;
    add.b = addend;
    return slot;
}

/// The address of a variable of the function, in its own space.
Slot Decoder::variable_address(const Operand& operand, Type type) {
    const Variable& variable = body_.variables[operand.index];
    const std::uint64_t offset = offsets_[operand.index] + operand.value;
    const unsigned bytes = bytes_of(type);
    if (variable.space == Space::shared && variable.is_extern) {
        const Slot base = sum(special_slot(Special::dynamic_shared_offset), operand.value, 4);
        return bytes == 8 ? widened(base) : base;
    }
    if (variable.space == Space::shared) return constant(offset, bytes);
    if (bytes != 8) throw NotSupported{};
    if (text_.is_entry && operand.index < text_.prototype.parameters.size())
        return sum(special_slot(Special::parameters), offset, 8);
    return sum(make_slot(Base::frame, 0), offset, 8);
}

Slot Decoder::symbol_address(const Operand& operand, Type type) {
    const Symbol symbol = module_.find(text_.text, operand.name);
    const unsigned bytes = bytes_of(type);
    switch (symbol.kind) {
        case Symbol::Kind::none:
            fail("'" + std::string(operand.name) + "' is not defined");
        case Symbol::Kind::variable:
            if (bytes != 8) throw NotSupported{};
            return sum(make_slot(Base::image, symbol.index * special_bytes), operand.value, 8);
        case Symbol::Kind::shared:
            return constant(symbol.offset + operand.value, bytes);
        case Symbol::Kind::dynamic_shared: {
            const Slot base = sum(special_slot(Special::dynamic_shared_offset), operand.value, 4);
            return bytes == 8 ? widened(base) : base;
        }
        case Symbol::Kind::function:
            if (bytes != 8) throw NotSupported{};
            code_->takes_addresses = true;
            return constant(function_address(symbol.index), 8);
    }
    throw NotSupported{};
}

Slot Decoder::source(const Operand& operand, Type type) {
    const unsigned bytes = bytes_of(type);
    switch (operand.kind) {
        case Operand::Kind::reg: {
            const Type own = body_.registers[operand.index].type;
            const bool same = (own == Type::pred) == (type == Type::pred) &&
                              register_size(own) == std::max(bytes, 2u);
            if (!same) fail("a register of another size than the instruction's");
            return register_slot(operand.index);
        }
        case Operand::Kind::integer:
            if (type == Type::pred) return constant(operand.value != 0 ? all_lanes : 0, 0);
            return constant(
                bytes >= 8 ? operand.value : operand.value & ((std::uint64_t{1} << 8 * bytes) - 1),
                std::max(bytes, 2u));
        case Operand::Kind::real32:
            if (bytes == 8)
                return constant(
                    std::bit_cast<std::uint64_t>(static_cast<double>(
                        std::bit_cast<float>(static_cast<std::uint32_t>(operand.value)))),
                    8);
            return constant(operand.value, std::max(bytes, 4u));
        case Operand::Kind::real64:
            if (bytes == 4)
                return constant(std::bit_cast<std::uint32_t>(
                                    static_cast<float>(std::bit_cast<double>(operand.value))),
                                4);
            return constant(operand.value, 8);
        case Operand::Kind::special:
            return special(operand.name, type);
        case Operand::Kind::local:
            return variable_address(operand, type);
        case Operand::Kind::symbol:
            return symbol_address(operand, type);
        default:
            fail("an operand that is no value");
    }
}

Slot Decoder::target(const Operand& operand, Type type) {
    if (operand.kind == Operand::Kind::sink)
        return temporary(type == Type::pred ? 0 : std::max(bytes_of(type), 2u));
    if (operand.kind != Operand::Kind::reg) fail("a result that is no register");
    return source(operand, type);
}

Slot Decoder::loose_source(const Operand& operand, Type type, std::uint8_t& bytes) {
    if (operand.kind == Operand::Kind::reg) {
        const Type own = body_.registers[operand.index].type;
        if (own == Type::pred) fail("a predicate as a number");
        bytes = static_cast<std::uint8_t>(register_size(own));
        if (bytes < bytes_of(type)) fail("a register that is too small");
        return register_slot(operand.index);
    }
    bytes = static_cast<std::uint8_t>(std::max(bytes_of(type), 2u));
    return source(operand, type);
}

Slot Decoder::loose_target(const Operand& operand, Type type, std::uint8_t& bytes) {
    if (operand.kind == Operand::Kind::sink) {
        bytes = static_cast<std::uint8_t>(std::max(bytes_of(type), 2u));
        return no_slot;
    }
    if (operand.kind != Operand::Kind::reg) fail("a result that is no register");
    return loose_source(operand, type, bytes);
}

Slot Decoder::predicate_source(const Operand& operand, bool& negated) {
    negated = operand.negated;
    return source(operand, Type::pred);
}

std::uint64_t Decoder::immediate(std::size_t index) const {
    if (operand(index).kind != Operand::Kind::integer) fail("an operand that is no number");
    return operand(index).value;
}

std::vector<Operand> Decoder::elements(const Operand& operand) const {
    if (operand.kind == Operand::Kind::vector) return operand.elements;
    return {operand};
}

Decoder::Address Decoder::address(const Operand& operand, Space space) {
    if (operand.kind != Operand::Kind::address || operand.elements.size() != 1)
        fail("an operand that is no address");
    const Operand& base = operand.elements[0];
    Address result;
    result.space = space;
    result.offset = operand.value;
    if (space == Space::param) result.space = text_.is_entry ? Space::generic : Space::local;
    if (base.kind == Operand::Kind::local) {
        const Variable& variable = body_.variables[base.index];
        const bool formal = text_.is_entry && base.index < text_.prototype.parameters.size();
        if (formal) {
            result.parameter = true;
            result.offset += offsets_[base.index];
            return result;
        }
        if (variable.space == Space::param || variable.space == Space::local) {
            result.space = Space::local;
            result.base = make_slot(Base::frame, 0);
            result.offset += offsets_[base.index];
            return result;
        }
    }
    if (base.kind == Operand::Kind::reg) {
        result.narrow = register_size(body_.registers[base.index].type) == 4;
        result.base = source(base, result.narrow ? Type::u32 : Type::u64);
        return result;
    }
    result.narrow = space == Space::shared;
    result.base = source(base, result.narrow ? Type::u32 : Type::u64);
    return result;
}

// ---- output

Instruction& Decoder::emit(Handler handler) {
    if (handler == nullptr) throw NotSupported{};
    Instruction instruction;
    instruction.run = handler;
    code_->instructions.push_back(instruction);
    LineInfo line;
    if (statement_ != nullptr)
        line = {statement_->line, statement_->source_file, statement_->source_line};
    code_->lines.push_back(line);
    return code_->instructions.back();
}

const Slot* Decoder::list(const std::vector<Slot>& slots) {
    auto& stored = code_->lists.emplace_back();
    stored.fill(no_slot);
    if (slots.size() > stored.size()) throw NotSupported{};
    std::copy(slots.begin(), slots.end(), stored.begin());
    return stored.data();
}

std::unique_ptr<Code> decode(const LinkedModule& module, const FunctionText& text) {
    return Decoder(module, text).run();
}

}  // namespace vgpu::ptx
