// Variables, their sizes and initial values.
#include "vgpu/ptx/declarations.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace vgpu::ptx {
namespace {

constexpr std::size_t largest_variable = std::size_t{1} << 34;

/// Fills a variable's bytes from `= ...`.
class Initialiser {
public:
    Initialiser(Lexer& lexer, Variable& variable) : lexer_(lexer), variable_(variable) {}

    void read() {
        if (lexer_.accept('{')) {
            read_list();
        } else {
            read_value();
        }
        if (variable_.bytes == 0) variable_.bytes = variable_.initial.size();
    }

private:
    void read_list() {
        if (++depth_ > 8) lexer_.fail("initial values nest too deep");
        while (!lexer_.accept('}')) {
            if (lexer_.accept('{')) {
                read_list();
            } else {
                read_value();
            }
            if (!lexer_.accept(',') && !lexer_.peek().is('}')) lexer_.fail("expected ',' or '}'");
        }
        --depth_;
    }

    void read_value() {
        const Token token = lexer_.peek();
        switch (token.kind) {
            case Token::Kind::word:
                return read_symbol();
            case Token::Kind::real32:
            case Token::Kind::real64:
                lexer_.next();
                return append_real(token);
            default:
                append(static_cast<std::uint64_t>(lexer_.expect_integer("an initial value")));
        }
        if (lexer_.peek().is('(')) lexer_.fail("masked addresses are not supported");
    }

    void append_real(const Token& token) {
        const double value = token.kind == Token::Kind::real32
                                 ? std::bit_cast<float>(static_cast<std::uint32_t>(token.bits))
                                 : std::bit_cast<double>(token.bits);
        if (variable_.type == Type::f32 && token.kind == Token::Kind::real32) {
            append(token.bits);
        } else if (variable_.type == Type::f32) {
            append(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
        } else {
            append(std::bit_cast<std::uint64_t>(value));
        }
    }

    void read_symbol() {
        std::string_view name = lexer_.next().text;
        if (name == "generic") {
            lexer_.expect('(');
            name = lexer_.expect_word("a symbol");
            lexer_.expect(')');
        }
        std::int64_t offset = 0;
        if (lexer_.accept('+')) offset = lexer_.expect_integer("an offset");
        variable_.relocations.push_back(
            {variable_.initial.size(), std::string(name), offset, bytes_of(variable_.type)});
        append(0);
    }

    void append(std::uint64_t bits) {
        const std::size_t bytes = std::min<std::size_t>(bytes_of(variable_.type), 8);
        const std::size_t at = variable_.initial.size();
        if (variable_.bytes != 0 && at + bytes > variable_.bytes)
            lexer_.fail("more initial values than elements");
        variable_.initial.resize(at + bytes);
        std::memcpy(variable_.initial.data() + at, &bits, bytes);
    }

    Lexer& lexer_;
    Variable& variable_;
    int depth_ = 0;
};

void read_attribute(Lexer& lexer, Variable& variable) {
    lexer.expect('(');
    while (!lexer.accept(')')) {
        if (lexer.next().is(".managed")) variable.managed = true;
        if (lexer.peek().kind == Token::Kind::end) lexer.fail("expected ')'");
    }
}

/// `.align 8 .v2 .b32`, `.ptr .global .align 4` and the like: everything before the name.
std::size_t read_qualifiers(Lexer& lexer, Variable& variable) {
    std::size_t elements = 1;
    bool pointer = false;
    while (lexer.peek().kind == Token::Kind::word && lexer.peek().text.front() == '.') {
        const std::string_view word = lexer.next().text;
        if (word == ".align") {
            const auto alignment = static_cast<std::size_t>(lexer.expect_integer("an alignment"));
            if (!std::has_single_bit(alignment) || alignment > 65536)
                lexer.fail("an alignment must be a power of two up to 65536");
            if (!pointer) variable.alignment = alignment;
        } else if (word == ".v2" || word == ".v4") {
            elements = word == ".v2" ? 2 : 4;
        } else if (word == ".ptr") {
            pointer = true;
        } else if (word == ".attribute") {
            read_attribute(lexer, variable);
        } else if (const auto type = type_named(word.substr(1))) {
            variable.type = *type;
        } else if (!pointer || !space_named(word)) {
            lexer.fail("'" + std::string(word) + "' is not understood in a declaration");
        }
    }
    return elements;
}

}  // namespace

std::optional<Space> space_named(std::string_view word) {
    if (word == ".global") return Space::global;
    if (word == ".shared") return Space::shared;
    if (word == ".local") return Space::local;
    if (word == ".param") return Space::param;
    if (word == ".const") return Space::constant;
    return std::nullopt;
}

Variable parse_variable(Lexer& lexer, Space space) {
    Variable variable;
    variable.space = space;
    std::size_t count = read_qualifiers(lexer, variable);
    variable.alignment = std::max<std::size_t>(variable.alignment, bytes_of(variable.type) * count);
    variable.name = lexer.expect_word("the name of a variable");
    bool open = false;
    while (lexer.accept('[')) {
        if (lexer.accept(']')) {
            open = true;
            continue;
        }
        const std::int64_t extent = lexer.expect_integer("an extent");
        if (extent < 0 || static_cast<std::size_t>(extent) > largest_variable)
            lexer.fail("the extent " + std::to_string(extent) + " of an array");
        count *= static_cast<std::size_t>(extent);
        if (count > largest_variable) lexer.fail("an array that is too large");
        lexer.expect(']');
    }
    variable.bytes = open ? 0 : count * bytes_of(variable.type);
    if (lexer.accept('=')) Initialiser(lexer, variable).read();
    return variable;
}

std::vector<Variable> parse_parameters(Lexer& lexer) {
    std::vector<Variable> result;
    lexer.expect('(');
    while (!lexer.accept(')')) {
        const std::string_view word = lexer.expect_word("'.param'");
        if (word != ".param" && word != ".reg") lexer.fail("expected '.param'");
        result.push_back(parse_variable(lexer, word == ".param" ? Space::param : Space::local));
        if (!lexer.accept(',') && !lexer.peek().is(')')) lexer.fail("expected ',' or ')'");
    }
    return result;
}

}  // namespace vgpu::ptx
