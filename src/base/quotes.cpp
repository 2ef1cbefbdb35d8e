// What users wrote, as messages show it.
#include "base/quotes.hpp"

namespace rondo {

std::string in_quotes(std::string_view text) {
    constexpr std::size_t longest = 80;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result = "\"";
    for (const char character : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte >= 0x20 && byte < 0x7f) {
            result += character;
        } else {
            result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return result + (text.size() > longest ? "...\"" : "\"");
}

}  // namespace rondo
