// Small helpers to write SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace rondo::training {

/// Text that can stand between tags and in attributes.
inline std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '&':
                result += "&amp;";
                break;
            case '"':
                result += "&quot;";
                break;
            default:
                result += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
        }
    }
    return result;
}

/// Colours that can be told apart, in order.
inline constexpr const char* series_colours[] = {"#2563a8", "#d1542c", "#2f8f5b", "#8a4fb0",
                                                 "#b8860b", "#1b8a9b", "#c03a78", "#5f6b7a"};

}  // namespace rondo::training
