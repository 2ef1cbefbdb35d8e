// Decoded functions: what the executor runs.
//
// Registers of a warp are arrays of 32 lanes (uint16_t, uint32_t or uint64_t; predicates are one
// 32-bit mask). An operand is a Slot: an offset into one of four places, so that constants, special
// registers and addresses of variables are read like registers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/ptx/syntax.hpp"

namespace vgpu::ptx {

constexpr unsigned warp_lanes = 32;
constexpr std::uint32_t all_lanes = 0xffffffffu;

class Warp;
struct Instruction;
struct Code;
using Handler = void (*)(Warp&, const Instruction&);

/// Which of Warp::base, in the low two bits; the rest is an offset in bytes.
using Slot = std::uint32_t;
enum class Base : Slot { frame = 0, constants = 1, specials = 2, image = 3 };
constexpr Slot make_slot(Base base, std::size_t offset) {
    return static_cast<Slot>(offset) | static_cast<Slot>(base);
}
constexpr Slot no_slot = ~Slot{0};

struct Call;

struct Instruction {
    Handler run = nullptr;
    Slot d = no_slot, a = no_slot, b = no_slot, c = no_slot;
    Slot guard = no_slot;          ///< a predicate; no_slot: always
    std::uint32_t guard_flip = 0;  ///< all_lanes for @!p
    std::uint64_t value = 0;       ///< an offset, a target, a mask: what the handler wants
    const Slot* list = nullptr;    ///< more operands
    std::uint8_t count = 1;        ///< of list
    std::uint8_t register_bytes = 4;
    std::uint8_t mode = 0;  ///< rounding, clamping: what the handler wants
    bool is_signed = false;
    bool strong = false;  ///< volatile, relaxed, acquire, release
    bool flag = false;
    const Call* call = nullptr;
};

struct LineInfo {
    std::uint32_t line = 0, source_file = 0, source_line = 0;
};

/// Bytes of parameters that go from one frame to another, as offsets in the frames' local memory.
struct ParameterCopy {
    std::uint32_t caller = 0, callee = 0, bytes = 0;
};

using Builtin = void (*)(Warp&, const Instruction&);

/// A function of the module, decoded or not yet.
struct Function {
    FunctionText* text = nullptr;
    std::uint32_t index = 0;
    Builtin builtin = nullptr;
    std::unique_ptr<Code> code;
    std::atomic<const Code*> ready{nullptr};
};

struct Call {
    Function* target = nullptr;  ///< null: indirect, the address is in Instruction::a
    std::vector<std::uint32_t> arguments, results;  ///< offsets in the caller's local memory
    std::vector<std::uint32_t> argument_bytes, result_bytes;
};

struct Code {
    const FunctionText* text = nullptr;
    std::vector<Instruction> instructions;  ///< ends with one that catches falling off
    std::vector<LineInfo> lines;            ///< one per instruction
    std::vector<std::byte> constants;       ///< 64-byte aligned copies are made by `pool`
    std::shared_ptr<std::byte[]> pool;
    std::size_t register_bytes = 0;
    std::size_t local_bytes = 0;                  ///< per thread: .local and .param variables
    std::vector<std::uint32_t> formals, results;  ///< offsets of parameters and results
    std::vector<std::uint32_t> formal_bytes, result_sizes;
    std::deque<std::array<Slot, 16>> lists;
    std::deque<std::vector<Slot>> tables;
    std::deque<Call> calls;
    std::vector<Function*> callees;  ///< called directly
    std::size_t shared_end = 0;      ///< of the entry's own static shared memory
    bool takes_addresses = false;    ///< or calls through them
    std::vector<std::string> unsupported;
};

/// 32-lane arrays that every warp has, in this order, 256 bytes each.
enum class Special : std::uint32_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    smid,
    nsmid,
    gridid,
    dynamic_smem_size,
    total_smem_size,
    dynamic_shared_offset,
    envreg1,
    envreg2,
    parameters,  ///< 64 bits: the address of the kernel's parameters
    zero,
    one,
    count
};
constexpr std::size_t special_bytes = 256;
constexpr Slot special_slot(Special special) {
    return make_slot(Base::specials, static_cast<std::size_t>(special) * special_bytes);
}

/// A function's address, as programs see it.
constexpr std::uint64_t function_tag = 0xF7C0'0000'0000'0000u;
constexpr std::uint64_t function_address(std::uint32_t index) {
    return function_tag | (std::uint64_t{index} + 1) << 4;
}

}  // namespace vgpu::ptx
