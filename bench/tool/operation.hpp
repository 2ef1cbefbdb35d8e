// The collectives that rondo-bench measures, with nccl-tests' names, counts and bandwidth rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/types.hpp"

namespace rondo::bench {

enum class Operation {
    all_reduce,
    reduce,
    broadcast,
    reduce_scatter,
    all_gather,
    all_to_all,
    gather,
    scatter,
    batch_reduce,
    sendrecv
};

std::vector<Operation> all_operations();
std::string_view to_string(Operation operation);
/// Also nccl-tests' spellings: alltoall, all_reduce_perf. Throws InvalidArgument.
Operation parse_operation(std::string_view text);

bool has_operator(Operation operation);
bool has_root(Operation operation);
/// Whether nccl-tests' in-place half of a row means something.
bool has_in_place(Operation operation);
/// Whether every rank holds one part of the message only: the count is that of a part.
bool has_parts(Operation operation);

/// What a message of about `bytes` becomes: parts are cut to multiples of 16 bytes, as in
/// nccl-tests.
struct Shape {
    std::uint64_t count = 0;  ///< elements, of one part where there are parts
    std::uint64_t bytes = 0;  ///< of the whole message: the size column
};
Shape shape_of(Operation operation, ElementType type, int ranks, std::uint64_t bytes);

/// Bus bandwidth / algorithm bandwidth.
double bus_factor(Operation operation, int ranks);

/// Bytes that must at least be read and written in all memories together.
struct Traffic {
    double read = 0;
    double written = 0;
    double total() const { return read + written; }
};
Traffic least_traffic(Operation operation, int ranks, double bytes, bool in_place);

/// Bytes that one rank's device must get to another's.
struct LinkTransfer {
    int from = 0;
    int to = 0;
    std::uint64_t bytes = 0;
};
/// The least that must cross links, spread over them: between all ranks where parts go to all,
/// along a chain where everything goes to or from a root. Empty for one rank.
std::vector<LinkTransfer> least_transfers(Operation operation, int ranks, int root,
                                          std::uint64_t bytes);

/// nccl-tests' names: float, half, bfloat16, int8 ...
std::string_view nccl_name(ElementType type);
std::string_view nccl_name(ReduceOp op);
/// NCCL's spellings and Rondo's. Throws InvalidArgument that names what is known.
ElementType parse_nccl_type(std::string_view text);
ReduceOp parse_nccl_op(std::string_view text);

}  // namespace rondo::bench
