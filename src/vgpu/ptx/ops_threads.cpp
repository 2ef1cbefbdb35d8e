// What threads do together: barriers, shuffles, votes; and clocks.
#include "vgpu/ptx/block_run.hpp"
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

std::uint32_t uniform(const Warp& warp, Slot slot) {
    return warp.in<std::uint32_t>(slot)[std::countr_zero(warp.exec)];
}

/// a: number, b: threads or no_slot, c: predicate of a reduction or no_slot (flag: negated).
/// mode 1: arrives without waiting.
void barrier(Warp& warp, const Instruction& i) {
    const std::uint32_t number = uniform(warp, i.a);
    const auto first = static_cast<unsigned>(std::countr_zero(warp.exec));
    if (number >= block_barriers)
        warp.block->fail(warp, FaultKind::illegal_instruction,
                         "barrier " + std::to_string(number) + " of 16", first);
    const std::uint32_t expected = i.b == no_slot ? 0 : uniform(warp, i.b);
    if (i.c != no_slot) {
        const std::uint32_t value = predicate(warp, i.c) ^ (i.flag ? all_lanes : 0u);
        BlockRun::Barrier& state = warp.block->barrier(number);
        state.trues += static_cast<std::uint32_t>(std::popcount(value & warp.exec));
        state.total += static_cast<std::uint32_t>(std::popcount(warp.exec));
    }
    warp.block->arrive(warp, number, expected, i.mode != 1);
}

/// Behind barrier.red: mode 2 and, 3 or, 4 popc.
void barrier_result(Warp& warp, const Instruction& i) {
    const BlockRun::Barrier& state = warp.block->barrier(uniform(warp, i.a) % block_barriers);
    const std::uint32_t trues = state.result_trues;
    if (i.mode == 4) {
        each_lane<std::uint32_t>(warp, i.d, [=](unsigned) { return trues; });
    } else {
        const bool holds = i.mode == 2 ? trues == state.result_total : trues != 0;
        set_predicate(warp, i.d, holds ? all_lanes : 0);
    }
}

void warp_barrier(Warp& warp, const Instruction& i) {
    warp.gather(uniform(warp, i.a), true);
}

/// Whether the instruction can run now; c or list[0] has the members. Old forms have none.
bool together(Warp& warp, Slot members) {
    return members == no_slot || warp.gather(uniform(warp, members), false);
}

enum class Shuffle { up, down, butterfly, index };

/// list[0]: members, list[1]: predicate or no_slot.
template <Shuffle mode>
void shuffle(Warp& warp, const Instruction& i) {
    if (!together(warp, i.list[0])) return;
    std::uint32_t values[warp_lanes];
    std::memcpy(values, warp.in<std::uint32_t>(i.a), sizeof values);
    const auto* const b = warp.in<std::uint32_t>(i.b);
    const auto* const c = warp.in<std::uint32_t>(i.c);
    std::uint32_t inside = 0;
    std::uint32_t result[warp_lanes];
    for (unsigned n = 0; n < warp_lanes; ++n) {
        const int lane = static_cast<int>(n);
        const int distance = static_cast<int>(b[n] & 31), clamp = static_cast<int>(c[n] & 31);
        const int segment = static_cast<int>(c[n] >> 8 & 31);
        const int last = (lane & segment) | (clamp & ~segment);
        int from = 0;
        if constexpr (mode == Shuffle::up) from = lane - distance;
        if constexpr (mode == Shuffle::down) from = lane + distance;
        if constexpr (mode == Shuffle::butterfly) from = lane ^ distance;
        if constexpr (mode == Shuffle::index) from = (lane & segment) | (distance & ~segment);
        const bool valid = mode == Shuffle::up ? from >= last : from <= last;
        inside |= static_cast<std::uint32_t>(valid) << n;
        result[n] = values[valid ? from & 31 : lane];
    }
    if (i.d != no_slot)
        each_lane<std::uint32_t>(warp, i.d, [&](unsigned lane) { return result[lane]; });
    if (i.list[1] != no_slot) set_predicate(warp, i.list[1], inside);
}

enum class Vote { all, any, uniform, ballot };

/// a: predicate (flag: negated), c: members or no_slot.
template <Vote mode>
void vote(Warp& warp, const Instruction& i) {
    if (!together(warp, i.c)) return;
    const std::uint32_t members = warp.exec;
    const std::uint32_t value = (predicate(warp, i.a) ^ (i.flag ? all_lanes : 0u)) & members;
    if constexpr (mode == Vote::ballot) {
        each_lane<std::uint32_t>(warp, i.d, [=](unsigned) { return value; });
    } else {
        const bool holds = mode == Vote::all   ? value == members
                           : mode == Vote::any ? value != 0
                                               : value == members || value == 0;
        set_predicate(warp, i.d, holds ? all_lanes : 0);
    }
}

/// c: members; list[0]: predicate of match.all.
template <class T, bool all>
void match(Warp& warp, const Instruction& i) {
    if (!together(warp, i.c)) return;
    T values[warp_lanes];
    std::memcpy(values, warp.in<T>(i.a), sizeof values);
    std::uint32_t result[warp_lanes] = {};
    bool same_everywhere = true;
    each_active(warp.exec, [&](unsigned lane) {
        each_active(warp.exec, [&](unsigned other) {
            if (values[lane] == values[other]) result[lane] |= 1u << other;
        });
        same_everywhere &= result[lane] == warp.exec;
    });
    const std::uint32_t everybody = same_everywhere ? warp.exec : 0;
    if (i.d != no_slot)
        each_lane<std::uint32_t>(warp, i.d,
                                 [&](unsigned lane) { return all ? everybody : result[lane]; });
    if (all && i.list != nullptr && i.list[0] != no_slot)
        set_predicate(warp, i.list[0], same_everywhere ? all_lanes : 0);
}

/// c: members.
template <class T, class F>
void reduce(Warp& warp, const Instruction& i, F combine) {
    if (!together(warp, i.c)) return;
    const T* const a = warp.in<T>(i.a);
    T result{};
    bool first = true;
    each_active(warp.exec, [&](unsigned lane) {
        result = first ? a[lane] : combine(result, a[lane]);
        first = false;
    });
    each_lane<T>(warp, i.d, [=](unsigned) { return result; });
}

using Word = std::uint32_t;
using SignedWord = std::int32_t;
void reduce_add(Warp& w, const Instruction& i) {
    reduce<Word>(w, i, [](Word a, Word b) { return a + b; });
}
void reduce_and(Warp& w, const Instruction& i) {
    reduce<Word>(w, i, [](Word a, Word b) { return a & b; });
}
void reduce_or(Warp& w, const Instruction& i) {
    reduce<Word>(w, i, [](Word a, Word b) { return a | b; });
}
void reduce_xor(Warp& w, const Instruction& i) {
    reduce<Word>(w, i, [](Word a, Word b) { return a ^ b; });
}
void reduce_min(Warp& w, const Instruction& i) {
    reduce<Word>(w, i, [](Word a, Word b) { return a < b ? a : b; });
}
void reduce_max(Warp& w, const Instruction& i) {
    reduce<Word>(w, i, [](Word a, Word b) { return a < b ? b : a; });
}
void reduce_smin(Warp& w, const Instruction& i) {
    reduce<SignedWord>(w, i, [](SignedWord a, SignedWord b) { return a < b ? a : b; });
}
void reduce_smax(Warp& w, const Instruction& i) {
    reduce<SignedWord>(w, i, [](SignedWord a, SignedWord b) { return a < b ? b : a; });
}

void active_lanes(Warp& warp, const Instruction& i) {
    const std::uint32_t lanes = warp.active;
    each_lane<std::uint32_t>(warp, i.d, [=](unsigned) { return lanes; });
}

/// c: members; list[0]: predicate.
void elect(Warp& warp, const Instruction& i) {
    if (!together(warp, i.c)) return;
    const auto leader = static_cast<std::uint32_t>(std::countr_zero(warp.exec));
    if (i.d != no_slot) each_lane<std::uint32_t>(warp, i.d, [=](unsigned) { return leader; });
    set_predicate(warp, i.list[0], 1u << leader);
}

void sleep(Warp& warp, const Instruction&) {
    warp.give_way();
}

enum class Clock { cycles, cycles_high, nanoseconds, nanoseconds_high };

template <Clock clock, class T>
void read_clock(Warp& warp, const Instruction& i) {
    constexpr bool cycles = clock == Clock::cycles || clock == Clock::cycles_high;
    constexpr bool high = clock == Clock::cycles_high || clock == Clock::nanoseconds_high;
    const std::uint64_t now =
        cycles ? warp.block->clock() : warp.block->context().hooks->global_timer_ns();
    each_lane<T>(warp, i.d, [=](unsigned) { return static_cast<T>(high ? now >> 32 : now); });
}

}  // namespace

Handler barrier_operation() {
    return &barrier;
}
Handler barrier_result_operation() {
    return &barrier_result;
}
Handler warp_barrier_operation() {
    return &warp_barrier;
}

Handler shuffle_operation(std::string_view mode) {
    return mode == "up"     ? &shuffle<Shuffle::up>
           : mode == "down" ? &shuffle<Shuffle::down>
           : mode == "bfly" ? &shuffle<Shuffle::butterfly>
           : mode == "idx"  ? &shuffle<Shuffle::index>
                            : nullptr;
}

Handler vote_operation(std::string_view mode) {
    return mode == "all"      ? &vote<Vote::all>
           : mode == "any"    ? &vote<Vote::any>
           : mode == "uni"    ? &vote<Vote::uniform>
           : mode == "ballot" ? &vote<Vote::ballot>
                              : nullptr;
}

Handler match_operation(std::string_view mode, unsigned bytes) {
    if (bytes != 4 && bytes != 8) return nullptr;
    if (mode == "any")
        return bytes == 4 ? &match<std::uint32_t, false> : &match<std::uint64_t, false>;
    if (mode == "all")
        return bytes == 4 ? &match<std::uint32_t, true> : &match<std::uint64_t, true>;
    return nullptr;
}

Handler redux_operation(std::string_view name, Type type) {
    if (bytes_of(type) != 4 || is_float(type)) return nullptr;
    if (name == "add") return &reduce_add;
    if (name == "and") return &reduce_and;
    if (name == "or") return &reduce_or;
    if (name == "xor") return &reduce_xor;
    if (name == "min") return is_signed(type) ? &reduce_smin : &reduce_min;
    if (name == "max") return is_signed(type) ? &reduce_smax : &reduce_max;
    return nullptr;
}

Handler activemask_operation() {
    return &active_lanes;
}
Handler elect_operation() {
    return &elect;
}
Handler nanosleep_operation() {
    return &sleep;
}

Handler clock_operation(std::string_view name) {
    if (name == "%clock" || name == "%clock_lo") return &read_clock<Clock::cycles, std::uint32_t>;
    if (name == "%clock_hi") return &read_clock<Clock::cycles_high, std::uint32_t>;
    if (name == "%clock64") return &read_clock<Clock::cycles, std::uint64_t>;
    if (name == "%globaltimer") return &read_clock<Clock::nanoseconds, std::uint64_t>;
    if (name == "%globaltimer_lo") return &read_clock<Clock::nanoseconds, std::uint32_t>;
    if (name == "%globaltimer_hi") return &read_clock<Clock::nanoseconds_high, std::uint32_t>;
    return nullptr;
}

}  // namespace vgpu::ptx
