// The colours of lines in pictures.
#pragma once

namespace rondo::training {

/// Colours that can be told apart, in order.
inline constexpr const char* series_colours[] = {"#2563a8", "#d1542c", "#2f8f5b", "#8a4fb0",
                                                 "#b8860b", "#1b8a9b", "#c03a78", "#5f6b7a"};

}  // namespace rondo::training
