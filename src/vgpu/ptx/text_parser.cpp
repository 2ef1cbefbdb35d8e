// The module level of a PTX text: variables and functions, without the functions' bodies.
#include "vgpu/ptx/declarations.hpp"
#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/syntax.hpp"

namespace vgpu::ptx {
namespace {

struct Linkage {
    bool is_extern = false, is_weak = false, is_visible = false;
};

class TextParser {
public:
    explicit TextParser(std::string_view text) : lexer_(text) {}

    TextContents parse() {
        while (lexer_.peek().kind != Token::Kind::end) parse_directive();
        if (contents_.version == 0) throw Error("PTX text without .version");
        return std::move(contents_);
    }

private:
    void parse_directive() {
        const Linkage linkage = parse_linkage();
        const std::string_view word = lexer_.expect_word("a directive");
        if (word == ".entry" || word == ".func") return parse_function(linkage, word == ".entry");
        if (const auto space = space_named(word)) return parse_global(linkage, *space);
        if (word == ".version") return parse_version();
        if (word == ".file") return parse_file();
        if (word == ".alias") return parse_alias();
        if (word == ".section") {
            lexer_.next();  // its name
            if (lexer_.peek().is('{')) lexer_.skip_braces();
            return;
        }
        if (word == ".address_size") {
            if (lexer_.expect_integer("32 or 64") != 64)
                lexer_.fail("only .address_size 64 is supported");
            return;
        }
        if (word == ".target") return skip_words();
        if (word == ".pragma") return skip_to_semicolon();
        lexer_.fail("the directive '" + std::string(word) + "' is not understood");
    }

    Linkage parse_linkage() {
        Linkage result;
        for (;;) {
            if (lexer_.accept(".extern")) {
                result.is_extern = true;
            } else if (lexer_.accept(".weak") || lexer_.accept(".common")) {
                result.is_weak = result.is_visible = true;
            } else if (lexer_.accept(".visible")) {
                result.is_visible = true;
            } else {
                return result;
            }
        }
    }

    /// `.version 9.0` is a number with a point to the lexer.
    void parse_version() {
        const std::string text(lexer_.next().text);
        const std::size_t point = text.find('.');
        if (point == std::string::npos || point == 0 || point > 3 || point + 1 >= text.size())
            lexer_.fail("expected a version such as 8.0");
        contents_.version =
            static_cast<unsigned>(10 * std::atoi(text.c_str()) + (text[point + 1] - '0'));
    }

    void skip_words() {
        do {
            lexer_.expect_word("a target");
        } while (lexer_.accept(','));
    }

    void skip_to_semicolon() {
        while (!lexer_.accept(';')) {
            if (lexer_.next().kind == Token::Kind::end) lexer_.fail("expected ';'");
        }
    }

    void parse_file() {
        const auto number = static_cast<std::uint32_t>(lexer_.expect_integer("a file number"));
        contents_.files.emplace_back(number, std::string(lexer_.next().text));
        while (lexer_.accept(',')) lexer_.next();
    }

    void parse_alias() {
        const std::string name(lexer_.expect_word("a name"));
        lexer_.expect(',');
        contents_.aliases.emplace_back(name, std::string(lexer_.expect_word("a name")));
        lexer_.expect(';');
    }

    void parse_global(const Linkage& linkage, Space space) {
        do {
            Variable variable = parse_variable(lexer_, space);
            variable.is_extern = linkage.is_extern;
            variable.is_weak = linkage.is_weak;
            variable.is_visible = linkage.is_visible;
            contents_.variables.push_back(std::move(variable));
        } while (lexer_.accept(','));
        lexer_.expect(';');
    }

    void parse_function(const Linkage& linkage, bool is_entry) {
        FunctionText function;
        function.is_entry = is_entry;
        function.is_extern = linkage.is_extern;
        function.is_weak = linkage.is_weak;
        skip_attributes();
        if (lexer_.peek().is('(')) function.prototype.results = parse_parameters(lexer_);
        function.name = lexer_.expect_word("the name of a function");
        if (lexer_.peek().is('(')) function.prototype.parameters = parse_parameters(lexer_);
        parse_performance(function);
        if (!lexer_.accept(';')) {
            function.has_body = true;
            function.line = lexer_.peek().line;
            function.body = lexer_.skip_braces();
        }
        contents_.functions.push_back(std::move(function));
    }

    void skip_attributes() {
        while (lexer_.accept(".attribute")) {
            lexer_.expect('(');
            while (!lexer_.accept(')')) {
                if (lexer_.next().kind == Token::Kind::end) lexer_.fail("expected ')'");
            }
        }
    }

    Dim3 parse_extents() {
        Dim3 result;
        result.x = static_cast<std::uint32_t>(lexer_.expect_integer("a number of threads"));
        if (lexer_.accept(','))
            result.y = static_cast<std::uint32_t>(lexer_.expect_integer("a number of threads"));
        if (lexer_.accept(','))
            result.z = static_cast<std::uint32_t>(lexer_.expect_integer("a number of threads"));
        return result;
    }

    void parse_performance(FunctionText& function) {
        while (lexer_.peek().kind == Token::Kind::word) {
            const std::string_view word = lexer_.next().text;
            if (word == ".maxntid") {
                function.max_threads = parse_extents();
            } else if (word == ".reqntid") {
                function.required_threads = parse_extents();
            } else if (word == ".minnctapersm") {
                function.min_blocks = static_cast<unsigned>(lexer_.expect_integer("a number"));
            } else if (word == ".maxnreg" || word == ".maxnctapersm" || word == ".maxclusterrank" ||
                       word == ".abi_preserve" || word == ".abi_preserve_control") {
                lexer_.expect_integer("a number");
            } else if (word == ".reqnctapercluster") {
                const Dim3 cluster = parse_extents();
                if (cluster.count() != 1) lexer_.fail("clusters of blocks are not supported");
            } else if (word == ".noreturn") {
                function.prototype.no_return = true;
            } else if (word == ".pragma") {
                skip_to_semicolon();
            } else if (word != ".unique" && word != ".explicitcluster" &&
                       word != ".blocksareclusters") {
                lexer_.fail("'" + std::string(word) + "' is not understood for a function");
            }
        }
    }

    Lexer lexer_;
    TextContents contents_;
};

}  // namespace

TextContents parse_text(std::string_view text) {
    // Texts from fatbins may end with zeros.
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    return TextParser(text).parse();
}

}  // namespace vgpu::ptx
