// The ranks' inputs and outputs during symbolic execution: what they hold, and who touched them
// when.
#pragma once

#include <optional>
#include <vector>

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
    /// For calls of at most so many chunks.
    SymbolicBuffers(const Schedule& schedule, bool in_place, std::uint32_t chunks);

    /// Null when the rank of the input or output does not have the unit.
    Cell* find(const Operand& operand, std::uint32_t unit, std::uint32_t chunk) {
        const std::uint32_t first = first_cell_[place(operand, unit)];
        return first == nothing || !exists(operand, unit) ? nullptr : &cells_[first + chunk];
    }

    /// A call of so many chunks begins. Everything is garbage, until...
    void begin_call(std::uint32_t call, std::uint32_t chunks);
    /// ...the caller brings the rank's new input.
    void fill(std::uint32_t rank, const Access& filled);

    /// What is wrong with the first output that does not hold the result; empty when all do.
    std::string find_wrong_output() const;

    /// Visits the cells of a rank's buffers.
    template <class Visitor>
    void for_each_of(std::uint32_t rank, Visitor visit) const {
        for (const std::uint32_t first : cells_of_[rank]) {
            for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) visit(cells_[first + chunk]);
        }
    }

private:
    static constexpr std::uint32_t nothing = UINT32_MAX;

    bool exists(const Operand& operand, std::uint32_t unit) const;
    std::size_t place(const Operand& operand, std::uint32_t unit) const;
    Value result(std::uint32_t unit) const;

    const Schedule& schedule_;
    const bool in_place_;
    std::uint32_t call_ = 0;
    std::uint32_t chunks_ = 0;
    std::vector<std::uint32_t> first_cell_;             ///< of each place
    std::vector<std::vector<std::uint32_t>> cells_of_;  ///< first ones, by rank
    std::vector<Cell> cells_;
};

}  // namespace rondo
