// Reads declarations of variables and parameters, which look alike at module level and in bodies.
#pragma once

#include <optional>

#include "vgpu/ptx/lexer.hpp"
#include "vgpu/ptx/syntax.hpp"

namespace vgpu::ptx {

/// `.global`, `.shared` and so on; nothing for other words.
std::optional<Space> space_named(std::string_view word);

/// From behind the state space to before `,`, `;` or `)`. `.reg` parameters get Space::local.
Variable parse_variable(Lexer& lexer, Space space);
/// `(...)` of a function: formal parameters or results.
std::vector<Variable> parse_parameters(Lexer& lexer);

}  // namespace vgpu::ptx
