// Tokens of PTX text.
#include "vgpu/ptx/lexer.hpp"

#include <bit>
#include <cstdlib>

namespace vgpu::ptx {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool begins_word(char c) {
    return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_word(char c) {
    return begins_word(c) || is_digit(c);
}

int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return 99;
}

std::string shown(const Token& token) {
    return token.kind == Token::Kind::end ? "the end of the text"
                                          : "'" + std::string(token.text.substr(0, 60)) + "'";
}

}  // namespace

void Lexer::fail(const std::string& text) const {
    throw Error("PTX line " + std::to_string(token_.line) + ": " + text + " at " + shown(token_));
}

void Lexer::expect(char punctuation) {
    if (!accept(punctuation)) fail(std::string("expected '") + punctuation + "'");
}

std::string_view Lexer::expect_word(std::string_view what) {
    if (token_.kind != Token::Kind::word) fail("expected " + std::string(what));
    return next().text;
}

std::int64_t Lexer::expect_integer(std::string_view what) {
    const bool negative = accept('-');
    if (token_.kind != Token::Kind::integer) fail("expected " + std::string(what));
    const std::uint64_t bits = next().bits;
    return static_cast<std::int64_t>(negative ? 0 - bits : bits);
}

void Lexer::skip_space() {
    for (;;) {
        const char c = at();
        if (c == '\n') {
            ++line_;
            ++position_;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            ++position_;
        } else if (c == '/' && at(1) == '/') {
            while (position_ < text_.size() && at() != '\n') ++position_;
        } else if (c == '/' && at(1) == '*') {
            position_ += 2;
            while (position_ < text_.size() && !(at() == '*' && at(1) == '/')) {
                if (at() == '\n') ++line_;
                ++position_;
            }
            position_ = std::min(position_ + 2, text_.size());
        } else {
            return;
        }
    }
}

void Lexer::advance() {
    skip_space();
    token_ = Token{};
    token_.line = line_;
    if (position_ >= text_.size()) return;
    const char c = at();
    if (c == '"') return read_string();
    if (is_digit(c) || (c == '.' && is_digit(at(1)))) return read_number();
    if (begins_word(c)) return read_word();
    token_.kind = Token::Kind::punctuation;
    token_.text = text_.substr(position_++, 1);
}

void Lexer::read_word() {
    const std::size_t begin = position_++;
    for (;;) {
        if (continues_word(at())) {
            ++position_;
        } else if (at() == ':' && at(1) == ':' && is_letter(at(2))) {
            position_ += 2;
        } else {
            break;
        }
    }
    token_.kind = Token::Kind::word;
    token_.text = text_.substr(begin, position_ - begin);
}

void Lexer::read_string() {
    const std::size_t begin = ++position_;
    while (position_ < text_.size() && at() != '"') {
        if (at() == '\n') ++line_;
        position_ += at() == '\\' ? 2 : 1;
    }
    position_ = std::min(position_, text_.size());
    token_.kind = Token::Kind::string;
    token_.text = text_.substr(begin, position_ - begin);
    if (position_ < text_.size()) ++position_;
}

void Lexer::read_number() {
    const std::size_t begin = position_;
    unsigned base = 10;
    token_.kind = Token::Kind::integer;
    if (at() == '0') {
        const char letter = at(1);
        const bool real32 = letter == 'f' || letter == 'F';
        const bool real64 = letter == 'd' || letter == 'D';
        if (real32 || real64 || letter == 'x' || letter == 'X') {
            base = 16;
            position_ += 2;
            if (real32) token_.kind = Token::Kind::real32;
            if (real64) token_.kind = Token::Kind::real64;
        } else if (letter == 'b' || letter == 'B') {
            base = 2;
            position_ += 2;
        } else if (is_digit(letter)) {
            base = 8;
        }
    }
    std::uint64_t value = 0;
    const std::size_t digits = position_;
    while (digit_value(at()) < static_cast<int>(base)) {
        value = value * base + static_cast<unsigned>(digit_value(at()));
        ++position_;
    }
    const bool decimal = base == 10 || base == 8;
    if (decimal && (at() == '.' || at() == 'e' || at() == 'E')) {
        const std::string text(text_.substr(begin, 64));
        char* end = nullptr;
        const double real = std::strtod(text.c_str(), &end);
        position_ = begin + static_cast<std::size_t>(end - text.c_str());
        value = std::bit_cast<std::uint64_t>(real);
        token_.kind = Token::Kind::real64;
    } else {
        if (!decimal && position_ == digits) fail("a number without digits");
        if (at() == 'U' || at() == 'u') ++position_;
    }
    token_.bits = value;
    token_.text = text_.substr(begin, position_ - begin);
}

std::string_view Lexer::skip_braces() {
    if (!token_.is('{')) fail("expected '{'");
    const std::size_t begin = position_;
    std::size_t depth = 1;
    while (depth > 0) {
        skip_space();
        if (position_ >= text_.size()) fail("a '{' that is never closed");
        if (at() == '"') {
            read_string();
            continue;
        }
        if (at() == '{') ++depth;
        if (at() == '}') --depth;
        ++position_;
    }
    const std::string_view inside = text_.substr(begin, position_ - 1 - begin);
    advance();
    return inside;
}

}  // namespace vgpu::ptx
