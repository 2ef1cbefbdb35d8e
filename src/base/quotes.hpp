// What users wrote, as messages show it.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// `text` in double quotes, cut to a readable length, with unprintable bytes as \xNN: for messages.
std::string in_quotes(std::string_view text);

}  // namespace rondo
