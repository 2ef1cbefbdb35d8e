// How pictures and reports look, in light and in dark surroundings.
#pragma once

#include <cstddef>

namespace rondo::training {

/// Colours that can be told apart, in order: classes s0 to s7.
inline constexpr std::size_t series_styles = 8;

/// Rules for the inside of a picture. A picture has its own copy, as it may stand alone.
inline constexpr const char* picture_style = R"(<style>
svg{--ink:#1f2937;--soft:#5f6b7a;--s0:#2563a8;--s1:#d1542c;--s2:#2f8f5b;--s3:#8a4fb0;--s4:#b8860b;--s5:#1b8a9b;--s6:#c03a78;--s7:#5f6b7a}
@media (prefers-color-scheme:dark){svg{--ink:#e6eaf0;--soft:#9aa6b5;--s0:#6fb0ff;--s1:#ffa15c;--s2:#56d3a5;--s3:#cf9bf0;--s4:#e3c95a;--s5:#6fd3e3;--s6:#ef8fb9;--s7:#aab4c0}}
text{font:12px system-ui,sans-serif;fill:var(--soft)}
.title{font-size:15px;fill:var(--ink);font-weight:600}
.grid{stroke:#94a3b8;stroke-opacity:.35}
polyline{fill:none;stroke-linejoin:round}
.main{stroke:var(--ink)}circle.main{fill:var(--ink)}
.s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}.s5{stroke:var(--s5)}.s6{stroke:var(--s6)}.s7{stroke:var(--s7)}
circle.s0{fill:var(--s0)}circle.s1{fill:var(--s1)}circle.s2{fill:var(--s2)}circle.s3{fill:var(--s3)}circle.s4{fill:var(--s4)}circle.s5{fill:var(--s5)}circle.s6{fill:var(--s6)}circle.s7{fill:var(--s7)}
.member{stroke:var(--ink);stroke-width:.6}
</style>
)";

}  // namespace rondo::training
