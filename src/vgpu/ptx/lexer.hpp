// Cuts PTX text into tokens, one at a time; comments and white space are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vgpu/ptx/engine.hpp"

namespace vgpu::ptx {

struct Token {
    enum class Kind : std::uint8_t { end, word, integer, real32, real64, string, punctuation };
    Kind kind = Kind::end;
    std::string_view text;   ///< of a string: what is between the quotes
    std::uint64_t bits = 0;  ///< of a number
    std::uint32_t line = 0;

    bool is(char punctuation) const {
        return kind == Kind::punctuation && text.front() == punctuation;
    }
    bool is(std::string_view word) const { return kind == Kind::word && text == word; }
};

/// Words hold letters, digits and any of "_$%." and "::"; so `ld.global.u32`, `.reg`, `%tid.x` are
/// one word each.
class Lexer {
public:
    explicit Lexer(std::string_view text, std::uint32_t first_line = 1)
        : text_(text), line_(first_line) {
        advance();
    }

    const Token& peek() const { return token_; }
    Token next() {
        const Token taken = token_;
        advance();
        return taken;
    }
    bool accept(char punctuation) {
        if (!token_.is(punctuation)) return false;
        advance();
        return true;
    }
    bool accept(std::string_view word) {
        if (!token_.is(word)) return false;
        advance();
        return true;
    }
    void expect(char punctuation);
    std::string_view expect_word(std::string_view what);
    std::int64_t expect_integer(std::string_view what);

    /// With the token `{` before it: the text up to the matching `}`, which is passed over.
    std::string_view skip_braces();

    [[noreturn]] void fail(const std::string& text) const;

private:
    void advance();
    void skip_space();
    void read_word();
    void read_number();
    void read_string();
    char at(std::size_t offset = 0) const {
        return position_ + offset < text_.size() ? text_[position_ + offset] : '\0';
    }

    std::string_view text_;
    std::size_t position_ = 0;
    std::uint32_t line_;
    Token token_;
};

}  // namespace vgpu::ptx
