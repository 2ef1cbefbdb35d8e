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

template <ElementType type>
FoldRow<NamedEntry> named_row() {
    const FoldRow<const void*> row = program_kernel_row<type>();
    FoldRow<NamedEntry> named;
    for (std::size_t column = 0; column < folds.size(); ++column) {
        named[column] = {row[column], program_kernel_name(type, folds[column])};
    }
    return named;
}

FoldTable<NamedEntry> make_table() {
    return []<std::size_t... type>(std::index_sequence<type...>) {
        return FoldTable<NamedEntry>{named_row<all_element_types[type]>()...};
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

Kernel<ProgramArguments> find_program_kernel(ElementType type, ReduceOp op) {
    static const FoldTable<NamedEntry> table = make_table();
    const NamedEntry& found = find_fold(table, type, op);
    return {found.entry, found.name.c_str()};
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
