// How the decoder finds the handlers. Each function returns null for what is not supported.
#pragma once

#include <string_view>

#include "vgpu/ptx/code.hpp"

namespace vgpu::ptx {

enum class Rounding : std::uint8_t { nearest, zero, down, up, nearest_away };

struct FloatModes {
    Rounding rounding = Rounding::nearest;
    bool ftz = false, saturate = false, relu = false, nan = false;
};

// ---- arithmetic: d = f(a), f(a, b), f(a, b, c)
Handler integer_operation(std::string_view name, Type type);
/// mul.wide, mad.wide: `type` is that of the factors.
Handler wide_operation(std::string_view name, Type type);
Handler bit_operation(std::string_view name, Type type);
/// add.cc, addc and relatives; Instruction::flag: writes CC.CF.
Handler carry_operation(std::string_view name, Type type);
/// Instruction::mode: Rounding.
Handler float_operation(std::string_view name, Type type, const FloatModes& modes);
Handler approximate_operation(std::string_view name, Type type, bool ftz);
Handler half_operation(std::string_view name, Type type, const FloatModes& modes);

// ---- comparison and selection
/// Writes the mask of lanes for which the comparison holds to d.
Handler compare_operation(std::string_view comparison, Type type, bool ftz);
/// set.*: all ones or 1.0 in d.
Handler set_operation(std::string_view comparison, Type source, Type result, bool ftz);
Handler select_operation(unsigned bytes);
Handler slct_operation(Type type, Type condition, bool ftz);
/// and, or, xor, not, mov of predicates.
Handler predicate_operation(std::string_view name);
Handler test_operation(std::string_view name, Type type);

// ---- moves
Handler move_operation(unsigned bytes);
Handler pack_operation(unsigned count, unsigned bytes);    ///< list -> d; bytes of the whole
Handler unpack_operation(unsigned count, unsigned bytes);  ///< a -> list
/// cvt: from a register of Instruction::register_bytes to one of `mode` bytes; value: ConvertModes.
struct ConvertModes {
    Rounding rounding = Rounding::nearest;
    bool to_integral = false;  ///< .rni and relatives on floats
    bool saturate = false, satfinite = false, ftz = false, relu = false;
};
Handler convert_operation(Type to, Type from, const ConvertModes& modes);
/// cvt.*x2: a is the upper half, b the lower; or one packed source in a.
Handler convert_pair_operation(Type to, Type from, const ConvertModes& modes);

// ---- memory. [a + value]; list, count, register_bytes and is_signed describe the registers.
Handler load_operation(Space space, unsigned bytes);
Handler store_operation(Space space, unsigned bytes);
Handler load_parameter_operation(unsigned bytes);  ///< of the kernel, at a fixed offset: value
/// cvta: to generic or from it.
Handler address_conversion(Space space, bool to_generic, unsigned bytes);
Handler is_space_operation(Space space);
/// atom: d = old value of [a + value]; operand b, and c for cas.
Handler atomic_operation(std::string_view name, Space space, Type type);
Handler fence_operation();
Handler prefetch_operation();
Handler copy_async_operation(unsigned bytes);

// ---- control
Handler branch_operation();        ///< value: target
Handler branch_table_operation();  ///< a: index; call-free; list holds the targets
Handler call_operation();
Handler return_operation();
Handler exit_operation();
Handler fall_off_operation();
Handler trap_operation();
Handler nothing_operation();

// ---- threads
/// a: barrier, b: count or no_slot; c: predicate of a reduction. mode: 0 sync, 1 arrive,
/// 2 and, 3 or, 4 popc.
Handler barrier_operation();
Handler barrier_result_operation();  ///< a: barrier; d: result; mode as above
Handler warp_barrier_operation();
Handler shuffle_operation(std::string_view mode);
Handler vote_operation(std::string_view mode);
Handler match_operation(std::string_view mode, unsigned bytes);
Handler redux_operation(std::string_view name, Type type);
Handler activemask_operation();
Handler elect_operation();
Handler nanosleep_operation();
Handler clock_operation(std::string_view name);  ///< null for what is no clock

// ---- functions that every program may call
Builtin builtin_named(std::string_view name);

}  // namespace vgpu::ptx
