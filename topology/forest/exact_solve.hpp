// Solves linear equations with integer coefficients exactly.
#pragma once

#include <optional>
#include <vector>

#include "topology/forest/network.hpp"
#include "topology/forest/rational.hpp"

namespace rondo::forest {

/// A square matrix of small integers, in rows.
struct IntegerMatrix {
    int size = 0;
    std::vector<int> entries;

    int at(int row, int column) const { return entries[row * size + column]; }
    int& at(int row, int column) { return entries[row * size + column]; }
    IntegerMatrix transposed() const;
};

/// The x with matrix * x = right; none if the matrix is singular. Works modulo a prime and lifts
/// the result (Dixon 1982), so that no fractions grow on the way; the result is checked before it
/// is returned.
std::optional<std::vector<Rational>> solve_exactly(const IntegerMatrix& matrix,
                                                   const std::vector<Units>& right);

}  // namespace rondo::forest
