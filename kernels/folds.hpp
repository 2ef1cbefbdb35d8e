// The one table of what is compiled: every element type with every fold. The operators are spelt as
// folds here: mean is the fold of sum with a divisor.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "rondo/types.hpp"

namespace rondo::kernels {

inline constexpr std::array<ReduceOp, 5> folds{ReduceOp::sum, ReduceOp::prod, ReduceOp::min,
                                               ReduceOp::max, ReduceOp::premul_sum};

/// One entry per fold, in the order of `folds`.
template <class Entry>
using FoldRow = std::array<Entry, folds.size()>;

/// One row per element type, in the order of the enumeration.
template <class Entry>
using FoldTable = std::array<FoldRow<Entry>, all_element_types.size()>;

template <class Entry, ElementType type, class Make>
constexpr FoldRow<Entry> make_fold_row(Make make) {
    return [&]<std::size_t... fold>(std::index_sequence<fold...>) {
        return FoldRow<Entry>{make.template operator()<type, folds[fold]>()...};
    }
    (std::make_index_sequence<folds.size()>{});
}

/// Calls make<type, fold>() for every pair.
template <class Entry, class Make>
constexpr FoldTable<Entry> make_fold_table(Make make) {
    return [&]<std::size_t... type>(std::index_sequence<type...>) {
        return FoldTable<Entry>{make_fold_row<Entry, all_element_types[type]>(make)...};
    }
    (std::make_index_sequence<all_element_types.size()>{});
}

/// The fold that an operator is made of.
constexpr ReduceOp fold_of(ReduceOp op) {
    return op == ReduceOp::mean ? ReduceOp::sum : op;
}

/// Where the operator stands in a row.
constexpr std::size_t fold_column(ReduceOp op) {
    std::size_t column = 0;
    while (folds[column] != fold_of(op)) {
        ++column;
    }
    return column;
}

/// The entry for a pair that a caller named. Throws InvalidArgument when there is no such type or
/// operator.
template <class Entry>
const Entry& find_fold(const FoldTable<Entry>& table, ElementType type, ReduceOp op) {
    size_of(type);  // both throw for a number without a name
    to_string(op);
    return table[static_cast<std::size_t>(type)][fold_column(op)];
}

}  // namespace rondo::kernels
