#include "schedule/symbolic_buffers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/builder.hpp"

namespace rondo {

SymbolicBuffers::SymbolicBuffers(const Schedule& schedule, bool in_place, std::uint32_t chunks)
    : schedule_(schedule),
      in_place_(in_place),
      chunks_(chunks),
      cells_(2 * schedule.ranks * schedule.unit_shares.size() * chunks) {}

bool SymbolicBuffers::exists(const Operand& operand, std::uint32_t unit) const {
    const std::uint32_t rank = operand.index;
    const bool is_input = operand.kind == Operand::Kind::input;
    if (is_input && schedule_.collective == Collective::broadcast) return rank == schedule_.root;
    const bool owned = is_input ? schedule_.collective == Collective::all_gather
                                : schedule_.collective == Collective::reduce_scatter;
    if (owned) return schedule_.unit_owners[unit] == rank;
    return is_input || std::ranges::binary_search(schedule_.destinations, rank);
}

std::size_t SymbolicBuffers::index(const Operand& operand, std::uint32_t unit,
                                   std::uint32_t chunk) const {
    const std::size_t space = operand.kind == Operand::Kind::output && !in_place_ ? 1 : 0;
    const std::size_t units = schedule_.unit_shares.size();
    return ((space * schedule_.ranks + operand.index) * units + unit) * chunks_ + chunk;
}

void SymbolicBuffers::clear() {
    std::ranges::fill(cells_, Cell{});
}

void SymbolicBuffers::fill(std::uint32_t rank, std::uint32_t call, const Access& filled) {
    RankSet own(schedule_.ranks);
    own.insert(rank);
    for (std::uint32_t unit = 0; unit < schedule_.unit_shares.size(); ++unit) {
        if (!exists(input_of(rank), unit)) continue;
        for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
            Cell& input = cell(input_of(rank), unit, chunk);
            input.value = {true, false, call, unit, chunk, own};
            input.write = filled;
        }
    }
}

Value SymbolicBuffers::result(std::uint32_t call, std::uint32_t unit, std::uint32_t chunk) const {
    const bool reduced = reduces(schedule_.collective);
    Value value{true, reduced, call, unit, chunk, RankSet(schedule_.ranks)};
    if (reduced) {
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) value.from.insert(rank);
    } else {
        value.from.insert(schedule_.collective == Collective::all_gather
                              ? schedule_.unit_owners[unit]
                              : schedule_.root);
    }
    return value;
}

std::string SymbolicBuffers::find_wrong_output(std::uint32_t call) const {
    for (std::uint32_t unit = 0; unit < schedule_.unit_shares.size(); ++unit) {
        for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
            const Value wanted = result(call, unit, chunk);
            for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
                if (!exists(output_of(rank), unit)) continue;
                const Value& value = cells_[index(output_of(rank), unit, chunk)].value;
                if (!value.known || !value.same_place(wanted) || !(value.from == wanted.from) ||
                    value.finished != wanted.finished) {
                    return fmt::format("the output of rank {} holds {}; it should hold {}", rank,
                                       value.print(), wanted.print());
                }
            }
        }
    }
    return {};
}

}  // namespace rondo
