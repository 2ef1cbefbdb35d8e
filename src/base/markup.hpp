// Text inside XML, SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// Text that can stand between tags and in attributes. Characters that XML does not know become
/// spaces.
inline std::string escaped_markup(std::string_view text) {
    std::string result;
    for (const char character : text) {
        switch (character) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            default: {
                const bool control = static_cast<unsigned char>(character) < 0x20 &&
                                     character != '\n' && character != '\t' && character != '\r';
                result += control ? ' ' : character;
            }
        }
    }
    return result;
}

}  // namespace rondo
