// Finds kernels by element type and operator, and tells their mangled names.
#include "kernels/kernels.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kernels/arithmetic.hpp"
#include "kernels/elements.hpp"
#include "kernels/entry_table.hpp"
#include "kernels/kernel_names.hpp"

namespace rondo::kernels {
namespace {

struct NamedEntry {
    const void* entry = nullptr;
    std::string name;
};

using NameOf = std::string (*)(ElementType, ReduceOp);

FoldRow<NamedEntry> name_row(ElementType type, const FoldRow<const void*>& row, NameOf name_of) {
    FoldRow<NamedEntry> named;
    for (std::size_t column = 0; column < folds.size(); ++column) {
        named[column] = {row[column], name_of(type, folds[column])};
    }
    return named;
}

/// `row_of<type>()` gives the entries of one type.
template <class RowOf>
FoldTable<NamedEntry> make_entry_table(RowOf row_of, NameOf name_of) {
    return [&]<std::size_t... type>(std::index_sequence<type...>) {
        return FoldTable<NamedEntry>{name_row(all_element_types[type],
                                              row_of.template operator()<all_element_types[type]>(),
                                              name_of)...};
    }
    (std::make_index_sequence<all_element_types.size()>{});
}

template <class T>
std::uint64_t factor_bits(double value) {
    if constexpr (std::is_floating_point_v<T>) {
        return bits_as<BitsOf<T>>(static_cast<T>(value));
    } else {
        const double whole = std::trunc(value);
        // The bounds are powers of two, so they are exact as doubles where the greatest integer is
        // not.
        const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
        if (!(whole >= static_cast<double>(std::numeric_limits<T>::min()) && whole < beyond)) {
            throw InvalidArgument(fmt::format(
                "the factor {} does not fit into an integer of {} bytes", value, sizeof(T)));
        }
        return static_cast<std::uint64_t>(static_cast<T>(whole));
    }
}

}  // namespace

Kernel<ReduceArguments> find_reduce_kernel(ElementType type, ReduceOp op) {
    static const FoldTable<NamedEntry> table = make_entry_table(
        []<ElementType row>() { return reduce_kernel_row<row>(); }, reduce_kernel_name);
    const NamedEntry& found = find_fold(table, type, op);
    return {found.entry, found.name.c_str()};
}

Kernel<ProgramArguments> find_program_kernel(ElementType type, ReduceOp op) {
    static const FoldTable<NamedEntry> table = make_entry_table(
        []<ElementType row>() { return program_kernel_row<row>(); }, program_kernel_name);
    const NamedEntry& found = find_fold(table, type, op);
    return {found.entry, found.name.c_str()};
}

Kernel<CopyArguments> find_copy_kernel() {
    return {copy_kernel_entry(), copy_kernel_name};
}

Kernel<BarrierArguments> find_barrier_kernel() {
    return {barrier_kernel_entry(), barrier_kernel_name};
}

std::uint64_t argument_bits(ElementType type, double value) {
    using Convert = std::uint64_t (*)(double);
    static constexpr auto converters = []<std::size_t... i>(std::index_sequence<i...>) {
        return std::array<Convert, sizeof...(i)>{&factor_bits<FactorType<all_element_types[i]>>...};
    }
    (std::make_index_sequence<all_element_types.size()>{});
    require_valid(type);
    return converters[static_cast<std::size_t>(type)](value);
}

}  // namespace rondo::kernels
