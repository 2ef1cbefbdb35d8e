// Turns the statements of one function into instructions. The families of opcodes are in
// decode_*.cpp; here is what they share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/ptx/code.hpp"
#include "vgpu/ptx/module.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {

/// Thrown while decoding a statement that the engine can't execute.
struct NotSupported {};

class Decoder {
public:
    Decoder(const LinkedModule& module, const FunctionText& text);
    std::unique_ptr<Code> run();

    // ---- the statement
    const Statement& statement() const { return *statement_; }
    /// A part of the opcode between its points, from 0; empty if there are not so many.
    std::string_view part(std::size_t index) const {
        return index < parts_.size() ? parts_[index] : "";
    }
    bool has(std::string_view modifier) const;
    const std::vector<std::string_view>& parts() const { return parts_; }
    /// The n-th part that is a type; none if there are not so many.
    Type type(std::size_t index = 0) const {
        return index < types_.size() ? types_[index] : Type::none;
    }
    std::size_t operands() const { return statement_->operands.size(); }
    const Operand& operand(std::size_t index) const;
    Rounding rounding() const;
    [[noreturn]] void fail(const std::string& what) const;

    // ---- operands
    Slot source(std::size_t index, Type type) { return source(operand(index), type); }
    Slot source(const Operand& operand, Type type);
    Slot target(std::size_t index, Type type) { return target(operand(index), type); }
    Slot target(const Operand& operand, Type type);
    /// A register of any size, or an immediate as wide as the type; sets `bytes` to its size.
    Slot loose_source(const Operand& operand, Type type, std::uint8_t& bytes);
    Slot loose_target(const Operand& operand, Type type, std::uint8_t& bytes);
    Slot predicate_source(const Operand& operand, bool& negated);
    Slot constant(std::uint64_t bits, unsigned bytes);
    Slot temporary(unsigned bytes);
    std::uint64_t immediate(std::size_t index) const;
    /// Registers of a vector operand, or the one register.
    std::vector<Operand> elements(const Operand& operand) const;

    /// [base + offset]: where the base is, its space if it is a variable's.
    struct Address {
        Slot base = no_slot;
        bool narrow = false;
        std::uint64_t offset = 0;
        Space space = Space::generic;
        bool parameter = false;  ///< of the kernel, at a fixed offset
    };
    Address address(const Operand& operand, Space space);

    // ---- output
    Instruction& emit(Handler handler);
    const Slot* list(const std::vector<Slot>& slots);
    Code& code() { return *code_; }
    const Body& body() const { return body_; }
    const LinkedModule& module() const { return module_; }
    const FunctionText& text() const { return text_; }
    /// Offset of a variable in local memory.
    std::uint32_t local_offset(std::size_t variable) const;

private:
    void place_variables();
    void place_variable(std::size_t index);
    void decode_statement(const Statement& statement);
    void split_opcode();
    void fix_targets();
    Slot register_slot(std::uint32_t index);
    Slot special(std::string_view name, Type type);
    Slot symbol_address(const Operand& operand, Type type);
    Slot variable_address(const Operand& operand, Type type);
    Slot sum(Slot a, std::uint64_t offset, unsigned bytes);
    Slot widened(Slot a);

    const LinkedModule& module_;
    const FunctionText& text_;
    Body body_;
    std::unique_ptr<Code> code_;
    std::vector<std::size_t> offsets_;  // of variables
    std::vector<Slot> registers_;
    std::map<std::pair<std::uint64_t, unsigned>, Slot> constants_;
    std::vector<std::uint32_t> first_instruction_;  // of each statement
    const Statement* statement_ = nullptr;
    std::vector<std::string_view> parts_;
    std::vector<Type> types_;
};

struct OpcodeDecoder {
    std::string_view name;
    void (*decode)(Decoder&);
};
std::span<const OpcodeDecoder> arithmetic_decoders();
std::span<const OpcodeDecoder> move_decoders();
std::span<const OpcodeDecoder> memory_decoders();
std::span<const OpcodeDecoder> control_decoders();
std::span<const OpcodeDecoder> thread_decoders();

/// The handler, or NotSupported.
inline Handler require(Handler handler) {
    if (handler == nullptr) throw NotSupported{};
    return handler;
}

}  // namespace vgpu::ptx
