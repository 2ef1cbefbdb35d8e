// Lays out flags, slots and programs in device memory, or in pinned host memory where the two ends
// of a link can't reach each other.
#include "communicator/plan.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "cuda/copy.hpp"

namespace rondo {
namespace {

constexpr std::size_t flag_stride = 64;  ///< bytes: no two flags share a cache line
constexpr std::size_t grain_bytes = 64;

/// Bytes to be copied to a device at once.
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
    template <class T>
    void replace(std::size_t offset, const T& value) {
        std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    }
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

}  // namespace

/// Where everything lies: an offset into the memory of a rank, or into host memory.
struct Plan::Layout {
    struct Place {
        bool on_host = false;
        std::uint32_t rank = 0;
        std::size_t offset = 0;
    };
    std::vector<Place> flags;
    std::vector<Place> slots;
    std::vector<std::size_t> flag_bytes;  ///< per rank
    std::vector<std::size_t> slot_bytes;  ///< per rank
    std::size_t host_bytes = 0;

    Layout(const Machine& machine, const Schedule& schedule, const std::vector<FlagInfo>& infos,
           std::uint64_t bytes_per_slot)
        : flag_bytes(machine.ranks()), slot_bytes(machine.ranks()) {
        for (const FlagInfo& info : infos) {
            flags.push_back(
                place(machine, info.writer_rank, info.waiter_rank, flag_stride, flag_bytes));
        }
        for (std::size_t i = 0; i < schedule.channels.size(); ++i) {
            const FlagInfo& data = infos[2 * i];
            slots.push_back(place(machine, data.writer_rank, data.waiter_rank,
                                  bytes_per_slot * schedule.channels[i].depth, slot_bytes));
        }
    }

private:
    Place place(const Machine& machine, std::uint32_t writer, std::uint32_t owner,
                std::size_t bytes, std::vector<std::size_t>& used) {
        const bool on_host = !machine.reaches(writer, owner);
        std::size_t& end = on_host ? host_bytes : used[owner];
        const Place result{on_host, owner, end};
        end += (bytes + flag_stride - 1) / flag_stride * flag_stride;
        return result;
    }
};

Plan::Plan(const Machine& machine, Schedule schedule, const PlanOptions& options)
    : schedule_(std::move(schedule)), options_(options) {
    require_verified(schedule_);
    if (schedule_.ranks != machine.ranks()) {
        throw InvalidArgument(fmt::format("the schedule '{}' is for {} ranks; there are {}",
                                          schedule_.name, schedule_.ranks, machine.ranks()));
    }
    flags_ = list_flags(schedule_);
    unit_begins_ = rondo::unit_begins(schedule_);
    largest_share_ = *std::max_element(schedule_.unit_shares.begin(), schedule_.unit_shares.end());
    const Layout layout(machine, schedule_, flags_, options.slot_bytes);
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        const DeviceId device = machine.device(rank);
        ranks_.push_back({.flags = DeviceBuffer<std::uint32_t>(
                              device, layout.flag_bytes[rank] / sizeof(std::uint32_t)),
                          .slots = DeviceBuffer<std::byte>(device, layout.slot_bytes[rank]),
                          .image = DeviceBuffer<std::byte>(device, 0),
                          .first_flags = PinnedBuffer<std::uint32_t>(
                              device, layout.flag_bytes[rank] / sizeof(std::uint32_t)),
                          .first_image = PinnedBuffer<std::byte>(device, 0)});
    }
    if (layout.host_bytes != 0) {
        host_memory_.emplace_back(machine.device(0), layout.host_bytes);
    }
    find_buffer_uses(machine);
    for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
        make_image(machine, rank, layout);
    }
}

void Plan::find_buffer_uses(const Machine& machine) {
    for (const Lane& lane : schedule_.lanes) {
        for (const Step& step : lane.steps) {
            for (const auto* operands : {&step.sources, &step.destinations}) {
                for (const Operand& operand : *operands) {
                    if (operand.kind == Operand::Kind::channel || operand.index == lane.rank) {
                        continue;
                    }
                    RankMemory& rank = ranks_[operand.index];
                    BufferUse& use =
                        operand.kind == Operand::Kind::input ? rank.input_use : rank.output_use;
                    use = std::max(use, machine.reaches(lane.rank, operand.index)
                                            ? BufferUse::by_peers
                                            : BufferUse::from_afar);
                }
            }
        }
    }
}

void Plan::make_image(const Machine& machine, std::uint32_t rank, const Layout& layout) {
    const DeviceId device = machine.device(rank);
    std::byte* const host =
        host_memory_.empty() ? nullptr : host_memory_[0].device_span(device).data();
    Placement placement{.flags = {}, .slots = {}, .first_flag_number = options_.first_flag_number};
    for (std::size_t i = 0; i < flags_.size(); ++i) {
        const Layout::Place& place = layout.flags[i];
        std::byte* const base =
            place.on_host ? host : reinterpret_cast<std::byte*>(ranks_[place.rank].flags.data());
        placement.flags.push_back(reinterpret_cast<std::uint32_t*>(base + place.offset));
        const std::uint32_t start = options_.first_epoch * flags_[i].per_chunk;
        if (place.on_host) {
            std::memcpy(host_memory_[0].data() + place.offset, &start, sizeof(start));
        } else if (place.rank == rank) {
            ranks_[rank].first_flags[place.offset / sizeof(std::uint32_t)] = start;
        }
    }
    for (const Layout::Place& place : layout.slots) {
        placement.slots.push_back((place.on_host ? host : ranks_[place.rank].slots.data()) +
                                  place.offset);
    }
    const LoweredProgram lowered = lower(schedule_, rank, placement);
    Image image;
    const std::size_t lanes = image.add(lowered.lanes);
    const std::size_t steps = image.add(lowered.steps);
    const std::size_t spans = image.add(lowered.spans);
    const std::size_t flags = image.add(lowered.flags);
    const std::size_t begins = image.add(unit_begins_);
    const kernels::ProgramState start_state{.next_epoch = options_.first_epoch,
                                            .epoch = options_.first_epoch};
    const std::size_t state = image.add(&start_state, 1);
    kernels::Program program;
    const std::size_t header = image.add(&program, 1);
    RankMemory& memory = ranks_[rank];
    memory.image = DeviceBuffer<std::byte>(device, image.bytes().size());
    std::byte* const base = memory.image.data();
    program = {.lanes = reinterpret_cast<kernels::ProgramLane*>(base + lanes),
               .steps = reinterpret_cast<kernels::ProgramStep*>(base + steps),
               .spans = reinterpret_cast<kernels::ProgramSpan*>(base + spans),
               .flags = reinterpret_cast<kernels::ProgramFlag*>(base + flags),
               .unit_begins = reinterpret_cast<std::uint64_t*>(base + begins),
               .state = reinterpret_cast<kernels::ProgramState*>(base + state),
               .slot_bytes = options_.slot_bytes};
    image.replace(header, program);
    memory.program = reinterpret_cast<const kernels::Program*>(base + header);
    memory.lanes = static_cast<std::uint32_t>(lowered.lanes.size());
    memory.first_image = PinnedBuffer<std::byte>(device, image.bytes().size());
    std::ranges::copy(image.bytes(), memory.first_image.data());
}

void Plan::upload(std::uint32_t rank, StreamRef stream) {
    RankMemory& memory = ranks_[rank];
    copy(stream, memory.image.span(), std::span<const std::byte>(memory.first_image.span()));
    copy(stream, memory.flags.span(), std::span<const std::uint32_t>(memory.first_flags.span()));
    memory.uploaded = true;
}

Cut Plan::cut(std::uint64_t count, std::uint64_t element_bytes) const {
    const std::uint64_t shares = unit_begins_.back();
    Cut cut;
    // Units that belong to ranks are where the caller says; others meet where cache lines do.
    cut.grain = schedule_.unit_owners.empty() ? grain_bytes / element_bytes : 1;
    const std::uint64_t grains = (count + cut.grain - 1) / cut.grain;
    cut.share = shares == 0 ? 0 : grains / shares;
    cut.extra_shares = shares == 0 ? 0 : grains % shares;
    const std::uint64_t largest =
        (cut.share * largest_share_ + std::min(cut.extra_shares, largest_share_)) * cut.grain;
    cut.chunk = is_cut_into_chunks(schedule_) ? options_.slot_bytes / element_bytes
                                              : std::max<std::uint64_t>(largest, 1);
    const std::uint64_t chunks = (largest + cut.chunk - 1) / cut.chunk;
    if (chunks > 1u << 30) {
        throw InvalidArgument(
            fmt::format("{} elements are {} chunks; there may be 2^30", count, chunks));
    }
    cut.chunks = static_cast<std::uint32_t>(chunks);
    return cut;
}

}  // namespace rondo
