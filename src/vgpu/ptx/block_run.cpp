// A block from its first instruction to its last: warps in turn, barriers, checks of addresses.
#include "vgpu/ptx/block_run.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/module.hpp"

namespace vgpu::ptx {
namespace {

/// A warp runs so long before others get their turn, and the block gives way to other blocks.
constexpr std::uint32_t turn_instructions = 20'000;
constexpr std::uint64_t rounds_between_yields = 64;
/// Local memory of kernels that call functions through pointers or themselves.
constexpr std::size_t deep_stack_bytes = 64 * 1024;
constexpr std::size_t memory_alignment = 64;

std::byte* align_up(std::byte* memory) {
    return memory + (0 - reinterpret_cast<std::uintptr_t>(memory)) % memory_alignment;
}

std::string shown(const Dim3& place) {
    return "(" + std::to_string(place.x) + ", " + std::to_string(place.y) + ", " +
           std::to_string(place.z) + ")";
}

}  // namespace

BlockRun::BlockRun(const BlockContext& context, const Code& code, const KernelInfo& info,
                   const LinkedModule& module)
    : context_(context), module_(module), info_(info), random_state_(context.seed) {
    threads_ = static_cast<unsigned>(context.block.count());
    if (threads_ == 0 || threads_ > 1024)
        throw Error("a block of " + std::to_string(context.block.count()) + " threads");
    if (context.parameters.size() < info.parameter_bytes)
        throw Error(info.name + " has " + std::to_string(info.parameter_bytes) +
                    " bytes of parameters; " + std::to_string(context.parameters.size()) +
                    " were given");
    warp_count_ = (threads_ + warp_lanes - 1) / warp_lanes;
    shared_bytes_ = (info.static_shared_bytes + 15) / 16 * 16 + context.dynamic_shared_bytes;
    shared_memory_ = std::make_unique<std::byte[]>(shared_bytes_ + 1024 + memory_alignment);
    // Shared memory begins at a multiple of 1024, as bulk copies want it.
    std::byte* const raw = shared_memory_.get();
    shared_ = raw + (0 - reinterpret_cast<std::uintptr_t>(raw)) % 1024;
    const bool calls = !code.callees.empty() || code.takes_addresses;
    local_bytes_ = calls ? std::max(deep_stack_bytes, 4 * code.local_bytes) : code.local_bytes;
    local_stride_ = (local_bytes_ + 64) / 64 * 64 + 64;
    if (local_bytes_ != 0) {
        local_mapped_ = local_stride_ * threads_;
        void* const mapped = mmap(nullptr, local_mapped_, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) throw std::bad_alloc();
        local_ = static_cast<std::byte*>(mapped);
    }
    parameter_memory_ =
        std::make_unique<std::byte[]>(context.parameters.size() + 16 + memory_alignment);
    std::copy(context.parameters.begin(), context.parameters.end(),
              align_up(parameter_memory_.get()));
    const std::size_t specials = static_cast<std::size_t>(Special::count) * special_bytes;
    special_memory_ =
        std::make_unique_for_overwrite<std::byte[]>(specials * warp_count_ + memory_alignment);
    specials_ = align_up(special_memory_.get());
    const auto* const image = static_cast<const PlacedImage*>(context.image);
    for (unsigned n = 0; n < warp_count_; ++n) {
        fill_specials(n, info);
        warps_.push_back(std::make_unique<Warp>());
        warps_.back()->base[2] = specials_ + n * specials;
        warps_.back()->base[3] = image == nullptr ? nullptr : image->lanes();
        warps_.back()->start(*this, n, code);
    }
    changes_seen_ = context.memory->changes().load(std::memory_order_acquire);
}

BlockRun::~BlockRun() {
    if (local_ != nullptr) munmap(local_, local_mapped_);
}

void BlockRun::fill_specials(unsigned warp, const KernelInfo& info) {
    std::byte* const area =
        specials_ + warp * static_cast<std::size_t>(Special::count) * special_bytes;
    const auto fill = [&](Special special, auto value) {
        auto* const lanes = reinterpret_cast<std::uint32_t*>(
            area + static_cast<std::size_t>(special) * special_bytes);
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
            lanes[lane] = static_cast<std::uint32_t>(value(lane));
    };
    const auto same = [&](Special special, std::uint64_t value) {
        fill(special, [=](unsigned) { return value; });
    };
    const auto wide = [&](Special special, std::uint64_t value) {
        auto* const lanes = reinterpret_cast<std::uint64_t*>(
            area + static_cast<std::size_t>(special) * special_bytes);
        std::fill_n(lanes, warp_lanes, value);
    };
    const Dim3& block = context_.block;
    const auto thread = [=](unsigned lane) { return warp * warp_lanes + lane; };
    fill(Special::tid_x, [&](unsigned lane) { return thread(lane) % block.x; });
    fill(Special::tid_y, [&](unsigned lane) { return thread(lane) / block.x % block.y; });
    fill(Special::tid_z, [&](unsigned lane) { return thread(lane) / block.x / block.y; });
    same(Special::ntid_x, block.x);
    same(Special::ntid_y, block.y);
    same(Special::ntid_z, block.z);
    same(Special::ctaid_x, context_.block_index.x);
    same(Special::ctaid_y, context_.block_index.y);
    same(Special::ctaid_z, context_.block_index.z);
    same(Special::nctaid_x, context_.grid.x);
    same(Special::nctaid_y, context_.grid.y);
    same(Special::nctaid_z, context_.grid.z);
    fill(Special::laneid, [](unsigned lane) { return lane; });
    same(Special::warpid, warp);
    same(Special::nwarpid, warp_count_);
    fill(Special::lanemask_eq, [](unsigned lane) { return 1u << lane; });
    fill(Special::lanemask_lt, [](unsigned lane) { return (1u << lane) - 1; });
    fill(Special::lanemask_le, [](unsigned lane) { return (1u << lane) | ((1u << lane) - 1); });
    fill(Special::lanemask_gt, [](unsigned lane) { return ~((1u << lane) | ((1u << lane) - 1)); });
    fill(Special::lanemask_ge, [](unsigned lane) { return ~((1u << lane) - 1); });
    same(Special::smid, context_.multiprocessor);
    same(Special::nsmid, context_.multiprocessors);
    wide(Special::gridid, context_.grid_id);
    same(Special::dynamic_smem_size, context_.dynamic_shared_bytes);
    same(Special::total_smem_size, shared_bytes_);
    same(Special::dynamic_shared_offset, (info.static_shared_bytes + 15) / 16 * 16);
    same(Special::envreg1, context_.grid_workspace >> 32);
    same(Special::envreg2, context_.grid_workspace & 0xffffffffu);
    wide(Special::parameters, reinterpret_cast<std::uint64_t>(align_up(parameter_memory_.get())));
    same(Special::zero, 0);
    same(Special::one, 1);
}

// ---- running

void BlockRun::run() {
    while (run_round()) {
    }
}

/// Every warp once. False when all have ended.
bool BlockRun::run_round() {
    bool ran = false, all_spun = true, finished = true;
    const std::size_t first = context_.seed == 0 ? 0 : random() % warps_.size();
    for (std::size_t n = 0; n < warps_.size(); ++n) {
        Warp& warp = *warps_[(first + n) % warps_.size()];
        if (warp.finished()) continue;
        finished = false;
        if (!warp.runnable()) continue;
        ran = true;
        const auto budget =
            context_.seed == 0 ? turn_instructions : 1 + static_cast<std::uint32_t>(random() % 100);
        warp.run(budget);
        all_spun = all_spun && (warp.spun || warp.finished());
    }
    if (finished) return false;
    if (!ran) report_deadlock();
    // Also where warps only ever wait for each other: other blocks must have their turn.
    if (all_spun || ++rounds_ % rounds_between_yields == 0) {
        ++yields;
        context_.hooks->yield();
    }
    return true;
}

std::uint64_t BlockRun::random() {
    random_state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = random_state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

std::uint64_t BlockRun::clock() {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(context_.hooks->global_timer_ns()) *
                                      context_.clock_rate_khz / 1'000'000);
}

// ---- barriers

void BlockRun::arrive(Warp& warp, std::uint32_t number, std::uint32_t expected, bool waits) {
    Barrier& state = barriers_[number];
    state.expected = expected;
    if (waits) {
        state.waiting[warp.number] |= warp.exec;
        warp.wait_at_block_barrier(number);
    } else {
        state.arrived +=
            warp.exec == warp.live ? warp_lanes : static_cast<unsigned>(std::popcount(warp.exec));
    }
    settle(number);
}

/// Counted barriers count whole warps, also where some lanes have ended.
void BlockRun::settle(std::uint32_t number) {
    Barrier& state = barriers_[number];
    std::uint32_t threads = state.arrived;
    bool everybody = true, anybody = false;
    for (unsigned n = 0; n < warp_count_; ++n) {
        const std::uint32_t waiting = state.waiting[n];
        const std::uint32_t live = warps_[n]->live;
        everybody = everybody && waiting == live;
        anybody = anybody || waiting != 0;
        if (waiting != 0)
            threads += waiting == live ? warp_lanes : static_cast<unsigned>(std::popcount(waiting));
    }
    const bool complete = state.expected == 0 ? everybody && anybody : threads >= state.expected;
    if (!complete) return;
    state.result_trues = state.trues;
    state.result_total = state.total;
    state.trues = state.total = state.arrived = 0;
    ++state.generation;
    for (unsigned n = 0; n < warp_count_; ++n) {
        if (state.waiting[n] == 0) continue;
        state.waiting[n] = 0;
        warps_[n]->release_barrier(number);
    }
}

void BlockRun::lanes_ended() {
    for (std::uint32_t number = 0; number < block_barriers; ++number) {
        const auto& waiting = barriers_[number].waiting;
        if (std::any_of(waiting.begin(), waiting.end(),
                        [](std::uint32_t lanes) { return lanes != 0; }))
            settle(number);
    }
}

void BlockRun::report_deadlock() const {
    std::string text = "no thread can go on:";
    const Warp* last = nullptr;
    unsigned lane = 0;
    for (const auto& warp : warps_) {
        for (const Group& group : warp->groups) {
            const LineInfo& line = group.frame->code->lines[group.pc == 0 ? 0 : group.pc - 1];
            char lanes[16];
            std::snprintf(lanes, sizeof lanes, "%08x", group.lanes);
            text += " warp " + std::to_string(warp->number) + " lanes " + lanes +
                    " wait at PTX line " + std::to_string(line.line) +
                    (group.state == GroupState::at_block_barrier
                         ? " (barrier " + std::to_string(group.barrier) + ");"
                         : " (for lanes of the warp);");
            last = warp.get();
            lane = static_cast<unsigned>(std::countr_zero(group.lanes));
        }
    }
    fail(*last, FaultKind::deadlock, text, lane);
}

// ---- addresses

const BlockRun::KnownRange* BlockRun::known(std::uint64_t begin, std::uint64_t end, bool writes) {
    for (const KnownRange& range : ranges_) {
        if (begin >= range.begin && end <= range.end && begin <= end && (range.writable || !writes))
            return &range;
    }
    return nullptr;
}

bool BlockRun::learn(std::uint64_t address) {
    KnownRange found;
    const auto within = [&](const std::byte* begin, std::size_t bytes, bool writable) {
        const auto first = reinterpret_cast<std::uint64_t>(begin);
        if (begin == nullptr || address - first >= bytes) return false;
        found = {first, first + bytes, writable};
        return true;
    };
    MemoryRange range;
    if (within(shared_, shared_bytes_, true) || within(local_, local_mapped_, true) ||
        within(align_up(parameter_memory_.get()), context_.parameters.size(), false)) {
    } else if (context_.memory->resolve(context_.device, address, range)) {
        found = {range.begin, range.end, range.writable};
    } else {
        return false;
    }
    ranges_[next_range_++ % ranges_.size()] = found;
    return true;
}

void BlockRun::check(const Warp& warp, const std::uint64_t* addresses, std::uint32_t exec,
                     std::size_t bytes, AccessKind kind) {
    const std::uint64_t changes = context_.memory->changes().load(std::memory_order_acquire);
    if (changes != changes_seen_) {
        changes_seen_ = changes;
        ranges_.fill({});
    }
    const bool writes = kind != AccessKind::read;
    for (const KnownRange& range : ranges_) {
        if (addresses[0] - range.begin >= range.end - range.begin) continue;
        if (range.end - range.begin < bytes || (writes && !range.writable)) break;
        const std::uint64_t last = range.end - bytes;
        std::uint64_t outside = 0, low = 0;
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
            outside |= (addresses[lane] - range.begin) | (last - addresses[lane]);
            low |= addresses[lane];
        }
        if (outside >> 63 == 0 && (low & (bytes - 1)) == 0) return;
        break;
    }
    check_slowly(warp, addresses, exec, bytes, kind);
}

void BlockRun::check_slowly(const Warp& warp, const std::uint64_t* addresses, std::uint32_t exec,
                            std::size_t bytes, AccessKind kind) {
    const bool writes = kind != AccessKind::read;
    each_active(exec, [&](unsigned lane) {
        const std::uint64_t address = addresses[lane];
        const auto verb = [&] {
            char text[64];
            std::snprintf(text, sizeof text, "%s %zu bytes at 0x%llx", writes ? "writes" : "reads",
                          bytes, static_cast<unsigned long long>(address));
            return std::string(text);
        };
        if (address % bytes != 0)
            fail(warp, FaultKind::misaligned_address,
                 verb() + ", which is not a multiple of " + std::to_string(bytes), lane);
        if (known(address, address + bytes, writes) != nullptr) return;
        if (learn(address) && known(address, address + bytes, writes) != nullptr) return;
        fail(warp, FaultKind::illegal_address,
             verb() + ": " + context_.memory->explain(context_.device, address, bytes), lane);
    });
}

// ---- reports

std::string BlockRun::place(const Warp& warp, unsigned lane) const {
    const unsigned thread = warp.number * warp_lanes + lane;
    const Dim3& block = context_.block;
    const Dim3 index{thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
    std::string text = "device " + std::to_string(context_.device) + ", kernel " + info_.name +
                       ", block " + shown(context_.block_index) + ", thread " + shown(index);
    if (warp.frame != nullptr && warp.pc > 0 && warp.pc <= warp.frame->code->lines.size()) {
        const LineInfo& line = warp.frame->code->lines[warp.pc - 1];
        text += ", PTX line " + std::to_string(line.line);
        if (line.source_line != 0)
            text += " (" + module_.source_file(*warp.frame->code->text, line.source_file) + ":" +
                    std::to_string(line.source_line) + ")";
        if (warp.frame->caller != nullptr) text += " in " + warp.frame->code->text->name;
    }
    return text;
}

void BlockRun::fail(const Warp& warp, FaultKind kind, const std::string& what,
                    unsigned lane) const {
    throw Fault(kind, place(warp, lane) + ": " + what);
}

}  // namespace vgpu::ptx
