// Branches, calls, returns, ends.
#include "vgpu/ptx/block_run.hpp"
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/module.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

void branch(Warp& warp, const Instruction& i) {
    warp.branch(warp.exec, static_cast<std::uint32_t>(i.value));
}

/// Lanes with the same target go together, one target after the other.
template <class Visit>
void by_value(const std::uint64_t* values, std::uint32_t lanes, Visit visit) {
    while (lanes != 0) {
        const std::uint64_t value = values[std::countr_zero(lanes)];
        std::uint32_t same = 0;
        each_active(lanes, [&](unsigned lane) {
            if (values[lane] == value) same |= 1u << lane;
        });
        visit(value, same);
        lanes &= ~same;
    }
}

/// brx.idx: value is the number of targets in list.
void branch_table(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint32_t>(i.a);
    std::uint64_t index[warp_lanes];
    for (unsigned lane = 0; lane < warp_lanes; ++lane) index[lane] = a[lane];
    by_value(index, warp.exec, [&](std::uint64_t target, std::uint32_t lanes) {
        if (target >= i.value) {
            warp.block->fail(warp, FaultKind::illegal_instruction,
                             "brx.idx with index " + std::to_string(target) + " into a table of " +
                                 std::to_string(i.value),
                             static_cast<unsigned>(std::countr_zero(lanes)));
        }
        warp.branch(lanes, i.list[target]);
    });
}

void enter_function(Warp& warp, const Instruction& i, Function& target, std::uint32_t lanes) {
    if (target.builtin != nullptr) {
        const std::uint32_t all = warp.exec;
        warp.exec = lanes;
        target.builtin(warp, i);
        warp.exec = all;
        return;
    }
    const Code& code = warp.block->module().code_of(target);
    if (code.formals.size() != i.call->arguments.size() ||
        code.results.size() < i.call->results.size()) {
        warp.block->fail(warp, FaultKind::illegal_instruction,
                         "call of " + target.text->name + " with other parameters than it has",
                         static_cast<unsigned>(std::countr_zero(lanes)));
    }
    warp.enter(lanes, code, i);
}

void call(Warp& warp, const Instruction& i) {
    if (i.call->target != nullptr) return enter_function(warp, i, *i.call->target, warp.exec);
    std::uint64_t address[warp_lanes];
    std::memcpy(address, warp.in<std::uint64_t>(i.a), sizeof address);
    by_value(address, warp.exec, [&](std::uint64_t target, std::uint32_t lanes) {
        Function* const function = warp.block->module().function_at(target);
        if (function == nullptr) {
            warp.block->fail(warp, FaultKind::illegal_instruction,
                             "call through " + std::to_string(target) + ", which is no function",
                             static_cast<unsigned>(std::countr_zero(lanes)));
        }
        enter_function(warp, i, *function, lanes);
    });
}

void return_from(Warp& warp, const Instruction&) {
    warp.return_lanes(warp.exec);
}
void exit_thread(Warp& warp, const Instruction&) {
    warp.exit_lanes(warp.exec);
}

void trap(Warp& warp, const Instruction&) {
    warp.block->fail(warp, FaultKind::trap, "trap",
                     static_cast<unsigned>(std::countr_zero(warp.exec)));
}
void nothing(Warp&, const Instruction&) {}

}  // namespace

Handler branch_operation() {
    return &branch;
}
Handler branch_table_operation() {
    return &branch_table;
}
Handler call_operation() {
    return &call;
}
Handler return_operation() {
    return &return_from;
}
Handler exit_operation() {
    return &exit_thread;
}
Handler fall_off_operation() {
    return &return_from;
}
Handler trap_operation() {
    return &trap;
}
Handler nothing_operation() {
    return &nothing;
}

}  // namespace vgpu::ptx
