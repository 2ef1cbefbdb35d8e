// The body of a function: scopes, registers, variables and statements.
#include <charconv>
#include <map>
#include <unordered_map>

#include "vgpu/ptx/declarations.hpp"
#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/syntax.hpp"

namespace vgpu::ptx {
namespace {

/// More registers than any compiler writes; a text that asks for more is wrong.
constexpr std::uint64_t most_registers = 1 << 20;

struct RegisterRange {
    Type type = Type::b32;
    std::uint64_t count = 0;
};

struct Scope {
    std::size_t parent = 0;
    std::unordered_map<std::string_view, std::uint32_t> registers;
    std::unordered_map<std::string_view, RegisterRange> ranges;  // by prefix
    std::unordered_map<std::string_view, std::uint32_t> variables;
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::unordered_map<std::string_view, std::uint32_t> tables, prototypes;
};

class BodyParser {
public:
    explicit BodyParser(const FunctionText& function)
        : function_(function), lexer_(function.body, function.line) {}

    Body parse() {
        scopes_.emplace_back();
        for (const auto* list : {&function_.prototype.results, &function_.prototype.parameters}) {
            for (const Variable& formal : *list) declare(formal);
        }
        while (lexer_.peek().kind != Token::Kind::end) parse_line();
        if (scope_ != 0) lexer_.fail("a '{' that is never closed");
        resolve_labels();
        return std::move(body_);
    }

private:
    // ---- lines
    void parse_line() {
        if (lexer_.accept(';')) return;
        if (lexer_.accept('{')) return open_scope();
        if (lexer_.accept('}')) return close_scope();
        if (lexer_.peek().is('@')) return parse_statement();
        const Token word = lexer_.peek();
        if (word.kind != Token::Kind::word) lexer_.fail("expected a statement");
        if (word.text.front() == '.') return parse_directive();
        lexer_.next();
        if (lexer_.accept(':')) return parse_label(word.text);
        parse_operands(word);
    }

    void open_scope() {
        if (scopes_.size() > most_registers) lexer_.fail("too many scopes");
        scopes_.emplace_back();
        scopes_.back().parent = scope_;
        scope_ = scopes_.size() - 1;
    }

    void close_scope() {
        if (scope_ == 0) lexer_.fail("a '}' too many");
        scope_ = scopes_[scope_].parent;
    }

    void parse_label(std::string_view name) {
        if (lexer_.accept(".branchtargets")) return parse_table(name);
        if (lexer_.accept(".callprototype")) return parse_prototype(name);
        if (lexer_.accept(".calltargets")) {
            skip_to_semicolon();
            scopes_[scope_].prototypes.emplace(name, no_prototype);
            return;
        }
        const auto here = static_cast<std::uint32_t>(body_.statements.size());
        if (!scopes_[scope_].labels.emplace(name, here).second)
            lexer_.fail("the label '" + std::string(name) + "' is defined twice");
    }

    void parse_table(std::string_view name) {
        scopes_[scope_].tables.emplace(name, static_cast<std::uint32_t>(body_.tables.size()));
        tables_.emplace_back();
        body_.tables.emplace_back();
        tables_.back().scope = scope_;
        do {
            tables_.back().labels.push_back(lexer_.expect_word("a label"));
        } while (lexer_.accept(','));
        lexer_.expect(';');
    }

    void parse_prototype(std::string_view name) {
        Prototype prototype;
        if (lexer_.peek().is('(')) prototype.results = parse_parameters(lexer_);
        lexer_.expect_word("'_'");
        if (lexer_.peek().is('(')) prototype.parameters = parse_parameters(lexer_);
        skip_to_semicolon();  // .noreturn and the like
        scopes_[scope_].prototypes.emplace(name,
                                           static_cast<std::uint32_t>(body_.prototypes.size()));
        body_.prototypes.push_back(std::move(prototype));
    }

    void parse_directive() {
        const std::string_view word = lexer_.next().text;
        if (word == ".reg") return parse_registers();
        if (word == ".loc") return parse_location();
        if (word == ".pragma" || word == ".maxnreg") return skip_to_semicolon();
        const bool is_extern = word == ".extern";
        const auto space = space_named(is_extern ? lexer_.next().text : word);
        if (!space) lexer_.fail("the directive '" + std::string(word) + "' is not understood");
        do {
            Variable variable = parse_variable(lexer_, *space);
            variable.is_extern = is_extern;
            declare(variable);
        } while (lexer_.accept(','));
        lexer_.expect(';');
    }

    void declare(const Variable& variable) {
        if (variable.space == Space::local && bytes_of(variable.type) != 0 && variable.bytes == 0)
            lexer_.fail("the variable '" + variable.name + "' has no size");
        const auto index = static_cast<std::uint32_t>(body_.variables.size());
        body_.variables.push_back(variable);
        names_.push_back(std::make_unique<std::string>(variable.name));
        scopes_[scope_].variables[*names_.back()] = index;
    }

    void skip_to_semicolon() {
        while (!lexer_.accept(';')) {
            if (lexer_.next().kind == Token::Kind::end) lexer_.fail("expected ';'");
        }
    }

    /// .loc file line column [, function_name label, inlined_at file line column]
    void parse_location() {
        source_file_ = static_cast<std::uint32_t>(lexer_.expect_integer("a file number"));
        source_line_ = static_cast<std::uint32_t>(lexer_.expect_integer("a line"));
        lexer_.expect_integer("a column");
        while (lexer_.accept(',')) {
            if (lexer_.accept("inlined_at")) {
                for (int i = 0; i < 3; ++i) lexer_.expect_integer("a number");
            } else {
                lexer_.expect_word("function_name");
                lexer_.expect_word("a label");
                if (lexer_.accept('+')) lexer_.expect_integer("an offset");
            }
        }
    }

    void parse_registers() {
        Type type = Type::none;
        while (lexer_.peek().kind == Token::Kind::word && lexer_.peek().text.front() == '.') {
            const std::string_view word = lexer_.next().text;
            const auto named = type_named(word.substr(1));
            if (!named) lexer_.fail("'" + std::string(word) + "' is no type of a register");
            type = *named;
        }
        if (type == Type::none) lexer_.fail("a register without a type");
        do {
            const std::string_view name = lexer_.expect_word("a register");
            if (lexer_.accept('<')) {
                const auto count = static_cast<std::uint64_t>(lexer_.expect_integer("a count"));
                lexer_.expect('>');
                scopes_[scope_].ranges[name] = {type, count};
            } else {
                scopes_[scope_].registers[name] = new_register(type);
            }
        } while (lexer_.accept(','));
        lexer_.expect(';');
    }

    std::uint32_t new_register(Type type) {
        if (body_.registers.size() >= most_registers) lexer_.fail("too many registers");
        body_.registers.push_back({type});
        return static_cast<std::uint32_t>(body_.registers.size() - 1);
    }

    // ---- statements
    void parse_statement() {
        lexer_.expect('@');
        Operand guard;
        guard.negated = lexer_.accept('!');
        const std::string_view name = lexer_.expect_word("a predicate");
        const bool negated = guard.negated;
        guard = named(name);
        guard.negated = negated;
        if (guard.kind != Operand::Kind::reg) lexer_.fail("a guard that is no register");
        const Token word = lexer_.peek();
        lexer_.expect_word("an instruction");
        parse_operands(word, guard);
    }

    void parse_operands(const Token& word, const Operand& guard = {}) {
        Statement statement;
        statement.opcode = word.text;
        statement.guard = guard;
        statement.line = word.line;
        statement.source_file = source_file_;
        statement.source_line = source_line_;
        while (!lexer_.accept(';')) {
            statement.operands.push_back(parse_operand());
            // setp writes two predicates as p|q
            if (lexer_.accept('|')) statement.operands.push_back(parse_operand());
            if (!lexer_.accept(',') && !lexer_.peek().is(';')) lexer_.fail("expected ',' or ';'");
        }
        body_.statements.push_back(std::move(statement));
    }

    Operand parse_operand() {
        if (++depth_ > 8) lexer_.fail("operands nest too deep");
        Operand result = parse_operand_inside();
        --depth_;
        return result;
    }

    Operand parse_operand_inside() {
        if (lexer_.accept('{')) return parse_elements(Operand::Kind::vector, '}');
        if (lexer_.accept('(')) return parse_elements(Operand::Kind::list, ')');
        if (lexer_.accept('[')) return parse_address();
        if (lexer_.accept('!')) {
            Operand result = parse_operand();
            result.negated = true;
            return result;
        }
        if (lexer_.accept('-')) {
            Operand result = parse_operand();
            negate(result);
            return result;
        }
        const Token token = lexer_.next();
        Operand result;
        result.value = token.bits;
        switch (token.kind) {
            case Token::Kind::integer:
                result.kind = Operand::Kind::integer;
                return result;
            case Token::Kind::real32:
                result.kind = Operand::Kind::real32;
                return result;
            case Token::Kind::real64:
                result.kind = Operand::Kind::real64;
                return result;
            case Token::Kind::word:
                return offset_symbol(named(token.text));
            default:
                lexer_.fail("expected an operand before");
        }
    }

    /// `symbol+4` outside brackets.
    Operand offset_symbol(Operand operand) {
        const bool symbol =
            operand.kind == Operand::Kind::symbol || operand.kind == Operand::Kind::local;
        if (symbol && lexer_.accept('+'))
            operand.value = static_cast<std::uint64_t>(lexer_.expect_integer("an offset"));
        return operand;
    }

    static void negate(Operand& operand) {
        if (operand.kind == Operand::Kind::integer) {
            operand.value = 0 - operand.value;
        } else if (operand.kind == Operand::Kind::real32) {
            operand.value ^= 0x80000000u;
        } else if (operand.kind == Operand::Kind::real64) {
            operand.value ^= std::uint64_t{1} << 63;
        } else {
            operand.negated = true;
        }
    }

    Operand parse_elements(Operand::Kind kind, char end) {
        Operand result;
        result.kind = kind;
        while (!lexer_.accept(end)) {
            result.elements.push_back(parse_operand());
            if (!lexer_.accept(',') && !lexer_.peek().is(end)) lexer_.fail("expected ','");
        }
        return result;
    }

    Operand parse_address() {
        Operand result;
        result.kind = Operand::Kind::address;
        result.elements.push_back(parse_operand());
        result.value = result.elements[0].kind == Operand::Kind::local ||
                               result.elements[0].kind == Operand::Kind::symbol
                           ? result.elements[0].value
                           : 0;
        result.elements[0].value =
            result.elements[0].kind == Operand::Kind::integer ? result.elements[0].value : 0;
        if (lexer_.accept('+')) {
            result.value = static_cast<std::uint64_t>(lexer_.expect_integer("an offset"));
        } else if (lexer_.accept('-')) {
            result.value = 0 - static_cast<std::uint64_t>(lexer_.expect_integer("an offset"));
        }
        while (lexer_.accept(',')) result.elements.push_back(parse_operand());
        lexer_.expect(']');
        return result;
    }

    // ---- names
    Operand named(std::string_view name) {
        Operand result;
        result.name = name;
        if (name == "_") {
            result.kind = Operand::Kind::sink;
            return result;
        }
        if (name == "WARP_SZ") {
            result.kind = Operand::Kind::integer;
            result.value = 32;
            return result;
        }
        for (std::size_t scope = scope_;; scope = scopes_[scope].parent) {
            if (find_in(scope, name, result)) return result;
            if (scope == 0) break;
        }
        if (name.front() == '%') {
            result.kind = Operand::Kind::special;
            return result;
        }
        // A label, perhaps one that follows, or a symbol of the module: resolve_labels() decides.
        result.kind = Operand::Kind::symbol;
        result.index = static_cast<std::uint32_t>(scope_);
        return result;
    }

    bool find_in(std::size_t scope_index, std::string_view name, Operand& result) {
        Scope& scope = scopes_[scope_index];
        if (const auto found = scope.registers.find(name); found != scope.registers.end()) {
            result.kind = Operand::Kind::reg;
            result.index = found->second;
            return true;
        }
        if (const auto found = scope.variables.find(name); found != scope.variables.end()) {
            result.kind = Operand::Kind::local;
            result.index = found->second;
            return true;
        }
        if (scope.ranges.empty()) return false;
        std::size_t digits = name.size();
        while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
        if (digits == name.size()) return false;
        const auto range = scope.ranges.find(name.substr(0, digits));
        std::uint64_t number = 0;
        std::from_chars(name.data() + digits, name.data() + name.size(), number);
        if (range == scope.ranges.end() || number >= range->second.count) return false;
        result.kind = Operand::Kind::reg;
        result.index = new_register(range->second.type);
        scope.registers.emplace(name, result.index);
        return true;
    }

    // ---- labels
    void resolve_labels() {
        for (Statement& statement : body_.statements) {
            for (Operand& operand : statement.operands) resolve(operand);
        }
        for (std::size_t i = 0; i < tables_.size(); ++i) {
            for (const std::string_view name : tables_[i].labels) {
                const auto found = find_label(tables_[i].scope, name, &Scope::labels);
                if (!found) throw Error("the label '" + std::string(name) + "' is not defined");
                body_.tables[i].statements.push_back(*found);
            }
        }
    }

    void resolve(Operand& operand) {
        if (operand.kind != Operand::Kind::symbol) return;
        for (const auto map : {&Scope::labels, &Scope::tables, &Scope::prototypes}) {
            if (const auto found = find_label(operand.index, operand.name, map)) {
                operand.kind = Operand::Kind::label;
                operand.index = *found;
                return;
            }
        }
    }

    std::optional<std::uint32_t> find_label(
        std::size_t scope, std::string_view name,
        std::unordered_map<std::string_view, std::uint32_t> Scope::*map) const {
        for (;; scope = scopes_[scope].parent) {
            const auto& labels = scopes_[scope].*map;
            if (const auto found = labels.find(name); found != labels.end()) return found->second;
            if (scope == 0) return std::nullopt;
        }
    }

    struct UnresolvedTable {
        std::size_t scope = 0;
        std::vector<std::string_view> labels;
    };
    static constexpr std::uint32_t no_prototype = ~0u;

    const FunctionText& function_;
    Lexer lexer_;
    Body body_;
    std::vector<Scope> scopes_;
    std::size_t scope_ = 0;
    std::vector<UnresolvedTable> tables_;
    std::vector<std::unique_ptr<std::string>> names_;  // of variables; scopes refer to them
    std::uint32_t source_file_ = 0, source_line_ = 0;
    int depth_ = 0;
};

}  // namespace

Body parse_body(const FunctionText& function) {
    return BodyParser(function).parse();
}

}  // namespace vgpu::ptx
