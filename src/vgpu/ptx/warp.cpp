// How a warp runs: groups of lanes, lowest address first, joined where they meet.
//
// Lanes that go different ways become groups. Of the groups that can go on, the one that is deepest
// in calls and lowest in the code runs, until it reaches the place of another one; there they join.
// Code is laid out so that what joins two ways lies behind both, so lanes come together again soon.
// A group that spins steps back behind the others, so that every lane makes progress.
#include "vgpu/ptx/warp.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/ptx/block_run.hpp"
#include "vgpu/ptx/lanes.hpp"

namespace vgpu::ptx {

namespace {

constexpr std::uint32_t never = ~0u;
constexpr std::size_t register_alignment = 64;

}  // namespace

Warp::~Warp() = default;

std::byte* Warp::local_memory(unsigned lane) const {
    return block->local(std::min(number * warp_lanes + lane, block->threads() - 1));
}

void Warp::start(BlockRun& owner, unsigned warp_number, const Code& entry) {
    block = &owner;
    number = warp_number;
    const unsigned threads = std::min(owner.threads() - warp_number * warp_lanes, warp_lanes);
    live = threads == warp_lanes ? all_lanes : (1u << threads) - 1;
    Frame* const first = new_frame(entry, nullptr);
    first->references = 1;
    groups.push_back({.lanes = live, .pc = 0, .frame = first});
}

Frame* Warp::new_frame(const Code& callee, Frame* caller) {
    Frame* made = nullptr;
    if (free_frames_.empty()) {
        frames_.push_back(std::make_unique<Frame>());
        made = frames_.back().get();
    } else {
        made = free_frames_.back();
        free_frames_.pop_back();
    }
    if (made->capacity < callee.register_bytes) {
        made->capacity = callee.register_bytes;
        made->memory = std::make_unique<std::byte[]>(made->capacity + register_alignment);
        const auto address = reinterpret_cast<std::uintptr_t>(made->memory.get());
        made->registers = made->memory.get() + (0 - address) % register_alignment;
    }
    made->code = &callee;
    made->caller = caller;
    made->references = 0;
    made->depth = caller == nullptr ? 0 : caller->depth + 1;
    made->local_offset =
        caller == nullptr
            ? 0
            : caller->local_offset +
                  static_cast<std::uint32_t>((caller->code->local_bytes + 15) / 16 * 16);
    auto* const offsets = reinterpret_cast<std::uint64_t*>(made->registers);
    std::fill_n(offsets, warp_lanes, std::uint64_t{made->local_offset});
    return made;
}

void Warp::drop(Frame* used) {
    while (used != nullptr && --used->references == 0) {
        Frame* const caller = used->caller;
        free_frames_.push_back(used);
        used = caller;
    }
}

// ---- groups

void Warp::load(const Group& group) {
    active = group.lanes;
    pc = group.pc;
    frame = group.frame;
    code = frame->code->instructions.data();
    base[0] = frame->registers;
    base[1] = frame->code->pool.get();
}

bool Warp::runnable() const {
    return std::any_of(groups.begin(), groups.end(),
                       [](const Group& group) { return group.state == GroupState::ready; });
}

void Warp::merge_groups() {
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (std::size_t k = i + 1; k < groups.size();) {
            Group& one = groups[i];
            const Group& other = groups[k];
            const bool same = one.frame == other.frame && one.pc == other.pc &&
                              one.state == other.state &&
                              one.state != GroupState::at_block_barrier &&
                              one.state != GroupState::at_warp_barrier;
            if (!same) {
                ++k;
                continue;
            }
            one.lanes |= other.lanes;
            one.wait_lanes |= other.wait_lanes;
            one.passed_over = one.passed_over && other.passed_over;
            --other.frame->references;
            groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
        }
    }
}

void Warp::settle_warp_waits() {
    std::uint32_t at_barrier = 0;
    for (const Group& group : groups) {
        if (group.state == GroupState::at_warp_barrier) at_barrier |= group.lanes;
    }
    for (Group& group : groups) {
        const std::uint32_t here =
            group.state == GroupState::at_warp_barrier ? at_barrier : group.lanes;
        const bool warp_wait = group.state == GroupState::at_warp_barrier ||
                               group.state == GroupState::at_warp_operation;
        if (warp_wait && (group.wait_lanes & live & ~here) == 0) group.state = GroupState::ready;
    }
}

/// Takes the next group to run out of `groups`; none if nobody can go on, or all have spun.
void Warp::select() {
    attention = false;
    if (active != 0) {
        groups.push_back({.lanes = active, .pc = pc, .frame = frame});
        active = 0;
    }
    if (groups.size() > 1) merge_groups();
    settle_warp_waits();
    const Group* best = nullptr;
    for (const Group& group : groups) {
        if (group.state != GroupState::ready || group.passed_over) continue;
        if (best == nullptr || group.frame->depth > best->frame->depth ||
            (group.frame->depth == best->frame->depth && group.pc < best->pc)) {
            best = &group;
        }
    }
    if (best == nullptr) return;
    const Group chosen = *best;
    groups.erase(groups.begin() + (best - groups.data()));
    stop = never;
    for (const Group& group : groups) {
        const bool meets =
            group.state == GroupState::ready || group.state == GroupState::at_warp_operation;
        if (meets && group.frame == chosen.frame && group.pc > chosen.pc)
            stop = std::min(stop, group.pc);
    }
    load(chosen);
}

void Warp::run(std::uint32_t budget) {
    spun = false;
    const auto waits_for_turn = [](const Group& group) {
        return group.state == GroupState::ready && !group.passed_over;
    };
    if (std::none_of(groups.begin(), groups.end(), waits_for_turn)) {
        for (Group& group : groups) group.passed_over = false;
    }
    select();
    while (active != 0) {
        while (!attention && pc < stop) {
            const Instruction& next = code[pc++];
            exec = active;
            if (next.guard != no_slot) {
                exec &= predicate(*this, next.guard) ^ next.guard_flip;
                if (exec == 0) continue;
            }
            ++instructions;
            thread_instructions +=
                exec == all_lanes ? warp_lanes : static_cast<unsigned>(std::popcount(exec));
            next.run(*this, next);
            if (--budget == 0) {
                spun = true;
                if (active != 0) give_way();
                return;
            }
        }
        select();
    }
    spun = spun || runnable();
}

void Warp::suspend_current(GroupState state) {
    groups.push_back({.lanes = active, .pc = pc, .frame = frame, .state = state});
    active = 0;
    attention = true;
}

// ---- control

void Warp::branch(std::uint32_t taken, std::uint32_t target) {
    if (taken == active) {
        pc = target;
        return;
    }
    groups.push_back({.lanes = taken, .pc = target, .frame = frame});
    ++frame->references;
    active &= ~taken;
    attention = true;
}

void Warp::exit_lanes(std::uint32_t lanes) {
    live &= ~lanes;
    active &= ~lanes;
    attention = true;
    if (active == 0) drop(frame);
    block->lanes_ended();
}

void Warp::return_lanes(std::uint32_t lanes) {
    Frame* const callee = frame;
    if (callee->caller == nullptr) return exit_lanes(lanes);
    Frame* const caller = callee->caller;
    const Call& call = *callee->call->call;
    for (std::size_t k = 0; k < call.results.size(); ++k) {
        const std::size_t bytes = std::min(call.result_bytes[k], callee->code->result_sizes[k]);
        each_active(lanes, [&](unsigned lane) {
            std::byte* const memory = local_memory(lane);
            std::memcpy(memory + caller->local_offset + call.results[k],
                        memory + callee->local_offset + callee->code->results[k], bytes);
        });
    }
    groups.push_back({.lanes = lanes, .pc = callee->return_pc, .frame = caller});
    ++caller->references;
    active &= ~lanes;
    attention = true;
    if (active == 0) drop(callee);
}

void Warp::enter(std::uint32_t lanes, const Code& callee, const Instruction& instruction) {
    Frame* const made = new_frame(callee, frame);
    if (made->local_offset + callee.local_bytes > block->local_bytes()) {
        block->fail(*this, FaultKind::stack_overflow,
                    "calls nest too deep for " + std::to_string(block->local_bytes()) +
                        " bytes of local memory",
                    static_cast<unsigned>(std::countr_zero(lanes)));
    }
    made->call = &instruction;
    made->return_pc = pc;
    made->references = 1;
    const Call& call = *instruction.call;
    for (std::size_t k = 0; k < call.arguments.size(); ++k) {
        const std::size_t bytes = std::min(call.argument_bytes[k], callee.formal_bytes[k]);
        each_active(lanes, [&](unsigned lane) {
            std::byte* const memory = local_memory(lane);
            std::memcpy(memory + made->local_offset + callee.formals[k],
                        memory + frame->local_offset + call.arguments[k], bytes);
        });
    }
    groups.push_back({.lanes = lanes, .pc = 0, .frame = made});
    ++frame->references;  // by the callee
    active &= ~lanes;
    if (active == 0) --frame->references;
    attention = true;
}

// ---- waiting

void Warp::wait_at_block_barrier(std::uint32_t barrier) {
    const std::uint32_t rest = active & ~exec;
    if (rest != 0) {
        groups.push_back({.lanes = rest, .pc = pc, .frame = frame});
        ++frame->references;
        active = exec;
    }
    suspend_current(GroupState::at_block_barrier);
    groups.back().barrier = barrier;
}

void Warp::release_barrier(std::uint32_t barrier) {
    for (Group& group : groups) {
        if (group.state == GroupState::at_block_barrier && group.barrier == barrier)
            group.state = GroupState::ready;
    }
}

bool Warp::gather(std::uint32_t members, bool barrier) {
    if ((members & live & ~exec) == 0) return true;
    const std::uint32_t rest = active & ~exec;
    if (rest != 0) {
        groups.push_back({.lanes = rest, .pc = pc, .frame = frame});
        ++frame->references;
        active = exec;
    }
    if (!barrier) --pc;  // tried again when they are together
    suspend_current(barrier ? GroupState::at_warp_barrier : GroupState::at_warp_operation);
    groups.back().wait_lanes = members;
    return false;
}

void Warp::note_poll(std::uint32_t at, std::uint64_t address, std::uint64_t seen) {
    Poll& last = polls_[at % polls_.size()];
    const bool again = last.pc == at && last.address == address && last.seen == seen;
    last = {at, address, seen};
    if (again) give_way();
}

void Warp::give_way() {
    if (active == 0) return;
    suspend_current(GroupState::ready);
    groups.back().passed_over = true;
}

}  // namespace vgpu::ptx
