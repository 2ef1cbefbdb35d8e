// Lays out flags, slots and programs in the arena, where the two ends of a link can reach them.
#include "communicator/prepared_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "cuda/check.hpp"
#include "kernels/fractions.hpp"

namespace rondo {
namespace {

constexpr std::size_t flag_stride = 64;  ///< bytes: no two flags share a cache line
constexpr std::uint64_t grain_bytes = 64;

/// Bytes that will be copied to a device at once.
class Image {
public:
    template <class T>
    std::size_t add(const T* values, std::size_t count) {
        bytes_.resize((bytes_.size() + 63) / 64 * 64);
        const std::size_t offset = bytes_.size();
        bytes_.resize(offset + count * sizeof(T));
        if (count != 0) {
            std::memcpy(bytes_.data() + offset, values, count * sizeof(T));
        }
        return offset;
    }
    template <class T>
    std::size_t add(const std::vector<T>& values) {
        return add(values.data(), values.size());
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

}  // namespace

/// Where everything of one replica lies: offsets into the flags and slots of the ranks that own
/// them. All memories have replicas at the same distance.
struct PreparedPlan::Layout {
    struct Place {
        std::uint32_t owner = 0;
        std::uint32_t writer = 0;
        std::size_t offset = 0;
    };
    std::vector<Place> flags;
    std::vector<Place> slots;
    std::size_t flag_bytes = 0;  ///< of a replica in any memory
    std::size_t slot_bytes = 0;

    Layout(const Schedule& schedule, const std::vector<FlagInfo>& infos,
           std::uint64_t bytes_per_slot) {
        std::vector<std::size_t> used(schedule.ranks);
        for (const FlagInfo& info : infos) {
            flags.push_back(place(info, flag_stride, used));
        }
        flag_bytes = *std::ranges::max_element(used);
        used.assign(schedule.ranks, 0);
        for (std::size_t i = 0; i < schedule.channels.size(); ++i) {
            slots.push_back(place(infos[2 * i], bytes_per_slot * schedule.channels[i].depth, used));
        }
        slot_bytes = *std::ranges::max_element(used);
    }

private:
    static Place place(const FlagInfo& link, std::size_t bytes, std::vector<std::size_t>& used) {
        const Place result{link.waiter_rank, link.writer_rank, used[link.waiter_rank]};
        used[link.waiter_rank] += bytes;
        return result;
    }
};

PreparedPlan::PreparedPlan(const Machine& machine, Arena& arena, std::shared_ptr<const Plan> plan,
                           const PrepareOptions& options)
    : arena_(arena),
      plan_(std::move(plan)),
      options_(options),
      lowering_(plan_->schedule),
      ranks_(plan_->schedule.ranks),
      relays_(relays(plan_->schedule)),
      replica_part_(kernels::fraction_of(1, plan_->partition.replicas)) {
    has_own_slots_ = !options_.members.empty();
    if (!has_own_slots_) {
        options_.members.resize(machine.ranks());
        std::iota(options_.members.begin(), options_.members.end(), 0u);
    }
    find_touched_buffers(machine);
    const std::uint32_t replicas = plan_->partition.replicas;
    const Layout layout(plan_->schedule, lowering_.flags(), plan_->partition.slot_bytes);
    if (has_own_slots_) {
        slots_ = take_table(layout.slot_bytes * replicas);
    } else if (layout.slot_bytes * replicas > arena.scratch_bytes()) {
        throw_no_room("scratch", layout.slot_bytes * replicas, arena.scratch_bytes());
    }
    flags_ = take_table(layout.flag_bytes * replicas);

    std::vector<LoweredProgram> programs;
    std::size_t largest = 0;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        programs.push_back(lowering_.program(rank, placement_for(rank, layout)));
        ranks_[rank].program_bytes = make_image(programs.back(), layout, nullptr).size();
        ranks_[rank].blocks = lowering_.lanes(rank) * replicas;
        largest = std::max(largest, ranks_[rank].program_bytes);
    }
    find_unit_sizes(programs.front().units);
    images_ = take_table(largest);
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        const std::uint32_t self = options_.members[rank];
        RankPart& part = ranks_[rank];
        const std::byte* const base = arena.table(self, self, images_.offset(), self);
        part.program = reinterpret_cast<const kernels::Program*>(base);
        part.image = make_image(programs[rank], layout, base);
        if (options_.first_epoch != 0) part.image.resize(part.program_bytes + flags_.size());
        start_flags(layout, rank, machine);
    }
}

Arena::Range PreparedPlan::take_table(std::size_t bytes) const {
    auto range = arena_.take_table(bytes);
    if (!range) throw_no_room("tables", bytes, arena_.table_bytes());
    return std::move(*range);
}

void PreparedPlan::throw_no_room(const char* what, std::size_t wanted, std::size_t all) const {
    throw NoRoom(fmt::format(
        "{} with {} replicas and slots of {} bytes needs {} bytes of {}, more than is free of the "
        "communicator's {}; CommunicatorOptions::scratch_bytes asks for more",
        plan_->schedule.name, plan_->partition.replicas, plan_->partition.slot_bytes, wanted, what,
        all));
}

void PreparedPlan::find_touched_buffers(const Machine& machine) {
    for (const Lane& lane : plan_->schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const auto* operands : {&step.sources, &step.destinations}) {
                for (const Operand& operand : *operands) {
                    if (operand.kind == Operand::Kind::channel || operand.index == lane.rank) {
                        continue;
                    }
                    if (!machine.reaches(options_.members[lane.rank],
                                         options_.members[operand.index])) {
                        throw InvalidArgument(fmt::format(
                            "{}: rank {} touches the buffers of rank {}, whose memory its device "
                            "can't reach; only channels lead there",
                            plan_->schedule.name, lane.rank, operand.index));
                    }
                    RankPart& touched = ranks_[operand.index];
                    (operand.kind == Operand::Kind::input ? touched.input_is_touched
                                                          : touched.output_is_touched) = true;
                }
            }
        }
    }
}

void PreparedPlan::find_unit_sizes(const std::vector<kernels::ProgramUnit>& units) {
    for (const kernels::ProgramUnit& unit : units) {
        const UnitSize size{unit.begin, unit.end};
        if (std::ranges::find(unit_sizes_, size) == unit_sizes_.end()) unit_sizes_.push_back(size);
    }
}

Placement PreparedPlan::placement_for(std::uint32_t rank, const Layout& layout) const {
    const std::uint32_t self = options_.members[rank];
    const auto member = [this](std::uint32_t other) { return options_.members[other]; };
    return {.flag =
                [this, &layout, self, member](std::size_t flag) {
                    const Layout::Place& place = layout.flags[flag];
                    return reinterpret_cast<std::uint32_t*>(
                        arena_.table(member(place.owner), member(place.writer),
                                     flags_.offset() + place.offset, self));
                },
            .slots =
                [this, &layout, self, member](std::size_t channel) {
                    const Layout::Place& place = layout.slots[channel];
                    const std::uint32_t owner = member(place.owner);
                    const std::uint32_t writer = member(place.writer);
                    return has_own_slots_
                               ? arena_.table(owner, writer, slots_.offset() + place.offset, self)
                               : arena_.scratch(owner, writer, place.offset, self);
                },
            .first_flag_number = options_.first_flag_number};
}

std::vector<std::byte> PreparedPlan::make_image(const LoweredProgram& lowered, const Layout& layout,
                                                const std::byte* base) const {
    Image image;
    kernels::Program program;
    image.add(&program, 1);  // the header; it comes first
    const std::size_t lanes = image.add(lowered.lanes);
    const std::size_t steps = image.add(lowered.steps);
    const std::size_t spans = image.add(lowered.spans);
    const std::size_t flags = image.add(lowered.flags);
    const std::size_t units = image.add(lowered.units);
    const kernels::ProgramState start{.next_epoch = options_.first_epoch,
                                      .epoch = options_.first_epoch};
    const std::size_t state = image.add(&start, 1);
    program = {
        .lanes = reinterpret_cast<const kernels::ProgramLane*>(base + lanes),
        .steps = reinterpret_cast<const kernels::ProgramStep*>(base + steps),
        .spans = reinterpret_cast<const kernels::ProgramSpan*>(base + spans),
        .flags = reinterpret_cast<const kernels::ProgramFlag*>(base + flags),
        .units = reinterpret_cast<const kernels::ProgramUnit*>(base + units),
        .state = reinterpret_cast<kernels::ProgramState*>(const_cast<std::byte*>(base) + state),
        .slot_bytes = plan_->partition.slot_bytes,
        .slot_stride = layout.slot_bytes,
        .flag_stride = layout.flag_bytes,
        .lane_count = static_cast<std::uint32_t>(lowered.lanes.size()),
        .replicas = plan_->partition.replicas};
    std::vector<std::byte> bytes = image.take();
    std::memcpy(bytes.data(), &program, sizeof(program));
    return bytes;
}

/// Flags on the host are written at once, those on the rank's device when it uploads.
void PreparedPlan::start_flags(const Layout& layout, std::uint32_t rank, const Machine& machine) {
    const std::uint32_t self = options_.members[rank];
    std::byte* const on_host = arena_.host_table(self, flags_.offset());
    std::byte* const for_device = ranks_[rank].image.data() + ranks_[rank].program_bytes;
    if (on_host != nullptr) std::memset(on_host, 0, flags_.size());
    for (std::size_t i = 0; i < layout.flags.size(); ++i) {
        const Layout::Place& place = layout.flags[i];
        const std::uint32_t start = options_.first_epoch * lowering_.flags()[i].per_chunk;
        if (place.owner != rank || start == 0) continue;
        std::byte* const target =
            machine.reaches(options_.members[place.writer], self) ? for_device : on_host;
        for (std::uint32_t replica = 0; replica < plan_->partition.replicas; ++replica) {
            std::memcpy(target + replica * layout.flag_bytes + place.offset, &start, sizeof(start));
        }
    }
}

void PreparedPlan::upload(std::uint32_t rank, StreamRef stream, std::byte* pinned) {
    const std::uint32_t self = options_.members[rank];
    RankPart& part = ranks_[rank];
    if (part.image.empty()) return;  // a call of another thread came first
    std::ranges::copy(part.image, pinned);
    const auto put = [&](std::size_t offset, const std::byte* from, std::size_t bytes) {
        check(cudaMemcpyAsync(arena_.table(self, self, offset, self), from, bytes,
                              cudaMemcpyHostToDevice, stream.get()),
              "cudaMemcpyAsync of a plan");
    };
    put(images_.offset(), pinned, part.program_bytes);
    if (part.image.size() != part.program_bytes) {
        put(flags_.offset(), pinned + part.program_bytes, flags_.size());
    } else if (flags_.size() != 0) {
        check(cudaMemsetAsync(arena_.table(self, self, flags_.offset(), self), 0, flags_.size(),
                              stream.get()),
              "cudaMemsetAsync of flags");
    }
    part.image = {};
}

ChunkCut PreparedPlan::cut(std::uint64_t largest_part, std::uint64_t element_bytes) const {
    const std::uint64_t grain = grain_bytes / element_bytes;
    const std::uint64_t replicas = plan_->partition.replicas;
    ChunkCut cut{.grain_shift = static_cast<std::uint32_t>(std::countr_zero(grain))};
    std::uint64_t largest = 0;  // unit
    for (const UnitSize& size : unit_sizes_) {
        const kernels::ElementRange range = kernels::share_of(
            largest_part, cut.grain_shift, {.unit_begin = size.begin, .unit_end = size.end});
        largest = std::max(largest, range.end - range.begin);
    }
    const std::uint64_t grains = (largest + grain - 1) / grain;
    const std::uint64_t share = (grains + replicas - 1) / replicas * grain;
    if (!is_cut_into_chunks(plan_->schedule)) {
        cut.chunk = std::uint64_t{1} << 62;
        cut.chunks = largest_part == 0 ? 0 : 1;
        return cut;
    }
    cut.chunk = plan_->partition.slot_bytes / element_bytes;
    cut.stagger = cut.chunk / replicas / grain * grain;
    const std::uint64_t whole = share <= cut.chunk ? share : share + (replicas - 1) * cut.stagger;
    const std::uint64_t chunks = (whole + cut.chunk - 1) / cut.chunk;
    if (chunks > 1u << 30) {
        throw InvalidArgument(fmt::format("parts of {} elements are {} chunks; there may be 2^30",
                                          largest_part, chunks));
    }
    cut.chunks = static_cast<std::uint32_t>(chunks);
    return cut;
}

}  // namespace rondo
