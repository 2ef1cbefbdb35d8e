#include "schedule/symbolic_buffers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/builder.hpp"

namespace rondo {

SymbolicBuffers::SymbolicBuffers(const Schedule& schedule, bool in_place, std::uint32_t chunks)
    : schedule_(schedule),
      in_place_(in_place),
      first_cell_((in_place ? 1 : 2) * schedule.ranks * schedule.unit_shares.size(), nothing),
      cells_of_(schedule.ranks) {
    std::uint32_t next = 0;
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        for (std::uint32_t unit = 0; unit < schedule.unit_shares.size(); ++unit) {
            for (const Operand& operand : {input_of(rank), output_of(rank)}) {
                std::uint32_t& first = first_cell_[place(operand, unit)];
                if (first != nothing || !exists(operand, unit)) continue;
                first = next;
                next += chunks;
                cells_of_[rank].push_back(first);
            }
        }
    }
    cells_.resize(next);
}

bool SymbolicBuffers::exists(const Operand& operand, std::uint32_t unit) const {
    return operand.kind == Operand::Kind::input ? has_input(schedule_, operand.index, unit)
                                                : has_output(schedule_, operand.index, unit);
}

std::size_t SymbolicBuffers::place(const Operand& operand, std::uint32_t unit) const {
    const std::size_t space = operand.kind == Operand::Kind::output && !in_place_ ? 1 : 0;
    return (space * schedule_.ranks + operand.index) * schedule_.unit_shares.size() + unit;
}

void SymbolicBuffers::begin_call(std::uint32_t call, std::uint32_t chunks) {
    call_ = call;
    chunks_ = chunks;
    for (const auto& firsts : cells_of_) {
        for (const std::uint32_t first : firsts) {
            std::fill_n(cells_.begin() + first, chunks, Cell{});
        }
    }
}

void SymbolicBuffers::fill(std::uint32_t rank, const Access& filled) {
    RankSet own(schedule_.ranks);
    own.insert(rank);
    for (std::uint32_t unit = 0; unit < schedule_.unit_shares.size(); ++unit) {
        if (!has_input(schedule_, rank, unit)) continue;
        for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
            Cell& input = *find(input_of(rank), unit, chunk);
            input.value = {true, false, call_, unit, chunk, own};
            input.write = filled;
        }
    }
}

Value SymbolicBuffers::result(std::uint32_t unit) const {
    Value value{true, reduces(schedule_.collective), call_, unit, 0, RankSet(schedule_.ranks)};
    for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
        if (has_input(schedule_, rank, unit)) value.from.insert(rank);
    }
    return value;
}

std::string SymbolicBuffers::find_wrong_output() const {
    for (std::uint32_t unit = 0; unit < schedule_.unit_shares.size(); ++unit) {
        Value wanted = result(unit);
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            if (!has_output(schedule_, rank, unit)) continue;
            const std::uint32_t first = first_cell_[place(output_of(rank), unit)];
            for (wanted.chunk = 0; wanted.chunk < chunks_; ++wanted.chunk) {
                const Value& value = cells_[first + wanted.chunk].value;
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
