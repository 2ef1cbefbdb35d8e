// The collectives that rondo-bench measures, with nccl-tests' names, counts and bandwidth rules.
#include "bench/tool/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

constexpr std::array<std::string_view, 10> operation_names{
    "all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather",
    "all_to_all", "gather", "scatter",   "batch_reduce",   "sendrecv"};

// In the order of ElementType and ReduceOp.
constexpr std::array<std::string_view, 12> nccl_types{"int8",  "uint8",  "int32",  "uint32",
                                                      "int64", "uint64", "half",   "bfloat16",
                                                      "float", "double", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, 6> nccl_ops{"sum", "avg", "prod", "min", "max", "mulsum"};

template <class Names>
std::string joined(const Names& names) {
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<Operation> all_operations() {
    std::vector<Operation> all;
    for (std::size_t i = 0; i < operation_names.size(); ++i) all.push_back(Operation(i));
    return all;
}

std::string_view to_string(Operation operation) {
    return operation_names.at(static_cast<std::size_t>(operation));
}

Operation parse_operation(std::string_view text) {
    if (text.ends_with("_perf")) text.remove_suffix(5);
    if (text == "alltoall") text = "all_to_all";
    const auto found = std::ranges::find(operation_names, text);
    if (found == operation_names.end()) {
        throw InvalidArgument(fmt::format("unknown collective '{}'; it must be one of {}", text,
                                          joined(operation_names)));
    }
    return Operation(found - operation_names.begin());
}

bool has_operator(Operation operation) {
    using enum Operation;
    return operation == all_reduce || operation == reduce || operation == reduce_scatter ||
           operation == batch_reduce;
}

bool has_root(Operation operation) {
    using enum Operation;
    return operation == reduce || operation == broadcast || operation == gather ||
           operation == scatter;
}

bool has_in_place(Operation operation) {
    using enum Operation;
    return operation != all_to_all && operation != batch_reduce && operation != sendrecv;
}

bool has_parts(Operation operation) {
    using enum Operation;
    return operation == reduce_scatter || operation == all_gather || operation == all_to_all ||
           operation == gather || operation == scatter;
}

Shape shape_of(Operation operation, ElementType type, int ranks, std::uint64_t bytes) {
    const std::uint64_t element = size_of(type);
    if (!has_parts(operation)) return {bytes / element, bytes / element * element};
    const auto parts = static_cast<std::uint64_t>(ranks);
    const std::uint64_t step = 16 / element;
    const std::uint64_t count = bytes / element / parts / step * step;
    return {count, count * element * parts};
}

double bus_factor(Operation operation, int ranks) {
    const double n = ranks;
    switch (operation) {
        case Operation::all_reduce:
        case Operation::batch_reduce:
            return 2 * (n - 1) / n;
        case Operation::reduce_scatter:
        case Operation::all_gather:
        case Operation::all_to_all:
        case Operation::gather:
        case Operation::scatter:
            return (n - 1) / n;
        case Operation::reduce:
        case Operation::broadcast:
        case Operation::sendrecv:
            return 1;
    }
    return 1;
}

Traffic least_traffic(Operation operation, int ranks, double bytes, bool in_place) {
    const double n = ranks;
    switch (operation) {
        case Operation::reduce:
        case Operation::reduce_scatter:
            return {n * bytes, bytes};
        case Operation::broadcast:
        case Operation::all_gather:
            return {bytes, (in_place ? n - 1 : n) * bytes};
        case Operation::gather:
        case Operation::scatter: {
            const double moved = in_place ? (n - 1) / n * bytes : bytes;
            return {moved, moved};
        }
        case Operation::all_reduce:
        case Operation::batch_reduce:
        case Operation::all_to_all:
        case Operation::sendrecv:
            return {n * bytes, n * bytes};
    }
    return {};
}

std::vector<LinkTransfer> least_transfers(Operation operation, int ranks, int root,
                                          std::uint64_t bytes) {
    std::vector<LinkTransfer> transfers;
    const auto part = bytes / static_cast<std::uint64_t>(ranks);
    const auto among_all = [&](std::uint64_t each) {
        for (int from = 0; from < ranks; ++from) {
            for (int to = 0; to < ranks; ++to) {
                if (from != to) transfers.push_back({from, to, each});
            }
        }
    };
    switch (operation) {
        case Operation::all_reduce:
        case Operation::batch_reduce:
            among_all(2 * part);
            break;
        case Operation::reduce_scatter:
        case Operation::all_gather:
        case Operation::all_to_all:
            among_all(part);
            break;
        case Operation::broadcast:
        case Operation::reduce:
            for (int i = 0; i + 1 < ranks; ++i) {
                const int near = (root + i) % ranks, far = (root + i + 1) % ranks;
                const bool away = operation == Operation::broadcast;
                transfers.push_back({away ? near : far, away ? far : near, bytes});
            }
            break;
        case Operation::gather:
        case Operation::scatter:
            for (int rank = 0; rank < ranks; ++rank) {
                const bool away = operation == Operation::scatter;
                if (rank != root)
                    transfers.push_back({away ? root : rank, away ? rank : root, part});
            }
            break;
        case Operation::sendrecv:
            for (int rank = 0; rank < ranks && ranks > 1; ++rank) {
                transfers.push_back({rank, (rank + 1) % ranks, bytes});
            }
            break;
    }
    return transfers;
}

std::string_view nccl_name(ElementType type) {
    return nccl_types.at(static_cast<std::size_t>(type));
}

std::string_view nccl_name(ReduceOp op) {
    return nccl_ops.at(static_cast<std::size_t>(op));
}

ElementType parse_nccl_type(std::string_view text) {
    const auto found = std::ranges::find(nccl_types, text);
    if (found != nccl_types.end()) return ElementType(found - nccl_types.begin());
    if (text == "fp8_e4m3") return ElementType::f8e4m3;
    if (text == "fp8_e5m2") return ElementType::f8e5m2;
    for (const ElementType type : all_element_types) {
        if (to_string(type) == text) return type;
    }
    throw InvalidArgument(
        fmt::format("unknown type '{}'; it must be one of {}", text, joined(nccl_types)));
}

ReduceOp parse_nccl_op(std::string_view text) {
    const auto found = std::ranges::find(nccl_ops, text);
    if (found != nccl_ops.end()) return ReduceOp(found - nccl_ops.begin());
    for (const ReduceOp op : all_reduce_ops) {
        if (to_string(op) == text) return op;
    }
    throw InvalidArgument(
        fmt::format("unknown operator '{}'; it must be one of {}", text, joined(nccl_ops)));
}

}  // namespace rondo::bench
