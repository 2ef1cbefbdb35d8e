// What the parser makes of PTX text: variables, functions, statements. Names of registers, labels
// and variables inside a function are resolved; module-wide ones are not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/ptx/engine.hpp"
#include "vgpu/ptx/types.hpp"

namespace vgpu::ptx {

/// An address in an initialiser: `symbol + offset` goes to `at`.
struct Relocation {
    std::size_t at = 0;
    std::string symbol;
    std::int64_t offset = 0;
    std::size_t bytes = 8;
};

struct Variable {
    std::string name;
    Space space = Space::global;
    Type type = Type::b8;
    std::size_t bytes = 0, alignment = 1;
    bool is_extern = false;  ///< defined elsewhere; in shared space: dynamic shared memory
    bool is_weak = false, is_visible = false, managed = false;
    std::vector<std::byte> initial;
    std::vector<Relocation> relocations;
};

struct Operand {
    enum class Kind : std::uint8_t {
        none,
        sink,     ///< _
        reg,      ///< index: of a register
        special,  ///< name
        integer,  ///< value
        real32,   ///< value: bits
        real64,   ///< value: bits
        local,    ///< index: of the function's variables
        symbol,   ///< name: a variable or function of the module
        label,    ///< index: of a statement, or of a table of labels
        vector,   ///< elements
        address,  ///< elements[0] + value
        list,     ///< elements, of a call
    };
    Kind kind = Kind::none;
    bool negated = false;  ///< !p, or a prefix minus of a register
    std::uint32_t index = 0;
    std::uint64_t value = 0;
    std::string_view name;
    std::vector<Operand> elements;
};

struct Statement {
    std::string_view opcode;  ///< with modifiers
    Operand guard;            ///< kind none: always
    std::vector<Operand> operands;
    std::uint32_t line = 0;                          ///< of the PTX text
    std::uint32_t source_file = 0, source_line = 0;  ///< from .loc; 0: unknown
};

struct Register {
    Type type = Type::b32;
};

struct Prototype {
    std::vector<Variable> results, parameters;
    bool no_return = false;
};

/// Targets of brx.idx (statements) or of an indirect call (names).
struct TargetTable {
    std::vector<std::uint32_t> statements;
};

struct Body {
    std::vector<Register> registers;
    std::vector<Variable>
        variables;  ///< .local, .shared, .param declared inside, after formal ones
    std::vector<Statement> statements;
    std::vector<TargetTable> tables;
    std::vector<Prototype> prototypes;
};

/// A function or an entry; its body is read when it is needed.
struct FunctionText {
    std::string name;
    bool is_entry = false, is_extern = false, is_weak = false;
    Prototype prototype;
    std::string_view body;  ///< between the braces
    bool has_body = false;
    std::uint32_t line = 0;  ///< where the body begins
    std::size_t text = 0;    ///< which of the module's texts
    Dim3 max_threads{0, 0, 0}, required_threads{0, 0, 0};
    unsigned min_blocks = 0;
};

struct TextContents {
    unsigned version = 0;  ///< 10 * major + minor
    std::vector<Variable> variables;
    std::vector<FunctionText> functions;
    std::vector<std::pair<std::uint32_t, std::string>> files;  ///< .file numbers
    std::vector<std::pair<std::string, std::string>> aliases;
};

/// The module level of one text; bodies are skipped. Throws Error.
TextContents parse_text(std::string_view text);
/// Throws Error.
Body parse_body(const FunctionText& function);

}  // namespace vgpu::ptx
