// The ranks' inputs and outputs during symbolic execution: what they hold, and who touched them
// when.
#pragma once

#include <optional>
#include <span>

#include "rondo/schedule.hpp"
#include "schedule/symbols.hpp"

namespace rondo {

struct Access {
    std::uint32_t lane;
    std::uint32_t time;
    std::uint32_t step;
};

/// One unit and chunk of a buffer, or a slot.
struct Cell {
    Value value = {};
    std::optional<Access> write = {};
    boost::container::small_vector<Access, 2> reads = {};  ///< since the write
};

class SymbolicBuffers {
public:
    SymbolicBuffers(const Schedule& schedule, bool in_place, std::uint32_t chunks);

    /// Whether the rank of an input or output has the unit.
    bool exists(const Operand& operand, std::uint32_t unit) const;
    /// Only of one that exists.
    Cell& cell(const Operand& operand, std::uint32_t unit, std::uint32_t chunk) {
        return cells_[index(operand, unit, chunk)];
    }

    /// Everything is garbage, until...
    void clear();
    /// ...the caller brings the rank's new input.
    void fill(std::uint32_t rank, std::uint32_t call, const Access& filled);

    /// What is wrong with the first output that does not hold the result of the call; empty when
    /// all do.
    std::string find_wrong_output(std::uint32_t call) const;

    /// Visits the cells of a rank's buffers.
    template <class Visitor>
    void for_each_of(std::uint32_t rank, Visitor visit) const {
        const std::size_t count = schedule_.unit_shares.size() * chunks_;
        for (const std::size_t space : {0, 1}) {
            const std::span all(cells_);
            for (const Cell& cell : all.subspan((space * schedule_.ranks + rank) * count, count)) {
                visit(cell);
            }
        }
    }

private:
    std::size_t index(const Operand& operand, std::uint32_t unit, std::uint32_t chunk) const;
    Value result(std::uint32_t call, std::uint32_t unit, std::uint32_t chunk) const;

    const Schedule& schedule_;
    const bool in_place_;
    const std::uint32_t chunks_;
    std::vector<Cell> cells_;
};

}  // namespace rondo
