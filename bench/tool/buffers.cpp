// The memory that all contestants work on, and where in it a case's operands lie.
#include "bench/tool/buffers.hpp"

#include <algorithm>

#include "bench/tool/cuda_check.hpp"

namespace rondo::bench {
namespace {

std::uint64_t part_bytes(const Case& test) {
    return test.shape.count * size_of(test.type);
}

/// Elements of a rank's input.
std::uint64_t input_count(const Case& test) {
    const bool all_parts = test.operation == Operation::reduce_scatter ||
                           test.operation == Operation::all_to_all ||
                           test.operation == Operation::scatter;
    return test.shape.count * static_cast<std::uint64_t>(all_parts ? test.ranks : 1);
}

std::uint64_t output_bytes(const Case& test) {
    const bool all_parts = test.operation == Operation::all_gather ||
                           test.operation == Operation::all_to_all ||
                           test.operation == Operation::gather;
    return part_bytes(test) * static_cast<std::uint64_t>(all_parts ? test.ranks : 1);
}

/// Elements of the whole message: beyond them no pattern is needed.
std::uint64_t whole_count_of(const Case& test) {
    return test.shape.count *
           static_cast<std::uint64_t>(has_parts(test.operation) ? test.ranks : 1);
}

/// What rank `rank` should have in the end, part by part.
class Expectation {
public:
    Expectation(const Case& test, const Operands& operands) : test_(test), operands_(operands) {
        if (has_operator(test.operation)) {
            patterns_.push_back(reduced_pattern(test.rule(), whole_count_of(test)));
        } else {
            for (int rank = 0; rank < test.ranks; ++rank) {
                patterns_.push_back(input_pattern(test.rule(), rank, whole_count_of(test)));
            }
        }
    }

    std::int64_t wrong(int rank) const {
        const std::uint64_t count = test_.shape.count;
        const auto own = static_cast<std::uint64_t>(rank);
        switch (test_.operation) {
            case Operation::reduce:
                return rank == test_.root ? wrong_part(rank, 0, 0, 0) : 0;
            case Operation::broadcast:
                return wrong_part(rank, 0, static_cast<std::size_t>(test_.root), 0);
            case Operation::reduce_scatter:
                return wrong_part(rank, 0, 0, own * count);
            case Operation::scatter:
                return wrong_part(rank, 0, static_cast<std::size_t>(test_.root), own * count);
            case Operation::sendrecv:
                return wrong_part(
                    rank, 0, static_cast<std::size_t>((rank + test_.ranks - 1) % test_.ranks), 0);
            case Operation::gather:
                return rank == test_.root ? wrong_parts(rank, 0) : 0;
            case Operation::all_gather:
                return wrong_parts(rank, 0);
            case Operation::all_to_all:
                return wrong_parts(rank, own * count);
            case Operation::all_reduce:
            case Operation::batch_reduce:
                break;
        }
        return wrong_part(rank, 0, 0, 0);
    }

private:
    /// All parts of the output of `rank`, each against its sender's pattern from element `first`
    /// on.
    std::int64_t wrong_parts(int rank, std::uint64_t first) const {
        std::int64_t sum = 0;
        for (std::size_t part = 0; part < patterns_.size(); ++part) {
            sum += wrong_part(rank, part, part, first);
        }
        return sum;
    }

    /// Part `part` of the output of `rank` against a pattern from element `first` on.
    std::int64_t wrong_part(int rank, std::size_t part, std::size_t pattern,
                            std::uint64_t first) const {
        const std::byte* const begin =
            operands_.outputs[static_cast<std::size_t>(rank)] + part * part_bytes(test_);
        return bench::count_wrong(patterns_[pattern], size_of(test_.type),
                                  {first, test_.shape.count}, begin);
    }

    const Case& test_;
    const Operands& operands_;
    std::vector<std::vector<std::byte>> patterns_;
};

}  // namespace

Buffers::Buffers(const std::vector<int>& devices, std::size_t bytes, std::size_t unalign)
    : devices_(devices), unalign_(unalign) {
    try {
        for (const int device : devices_) {
            check(cudaSetDevice(device), "cudaSetDevice");
            for (int i = 0; i < 2; ++i) {
                void* memory = nullptr;
                check(cudaMalloc(&memory, std::max<std::size_t>(bytes + unalign, 64)),
                      "memory for the messages");
                memory_.push_back(static_cast<std::byte*>(memory));
                check(cudaMemset(memory, 0, bytes + unalign), "cudaMemset");
            }
            check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        }
    } catch (...) {
        free_all();
        throw;
    }
}

Buffers::~Buffers() {
    free_all();
}

void Buffers::free_all() noexcept {
    for (std::byte* memory : memory_) cudaFree(memory);
    memory_.clear();
}

Operands operands_of(const Buffers& buffers, const Case& test) {
    Operands operands;
    for (int rank = 0; rank < buffers.ranks(); ++rank) {
        const std::size_t own_part = static_cast<std::size_t>(rank) * part_bytes(test);
        std::byte* input = test.in_place ? buffers.receive(rank) : buffers.send(rank);
        std::byte* output = buffers.receive(rank);
        using enum Operation;
        const bool gathers = test.operation == all_gather || test.operation == gather;
        const bool scatters = test.operation == reduce_scatter || test.operation == scatter;
        if (test.in_place && gathers) input += own_part;
        if (test.in_place && scatters) output += own_part;
        operands.inputs.push_back(input);
        operands.outputs.push_back(output);
    }
    return operands;
}

void fill(const Buffers& buffers, const Case& test) {
    constexpr int rubbish = 0xa5;
    const Operands operands = operands_of(buffers, test);
    for (int rank = 0; rank < test.ranks; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        check(cudaSetDevice(buffers.device(rank)), "cudaSetDevice");
        check(cudaMemset(operands.outputs[index], rubbish, output_bytes(test)), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        write_pattern(input_pattern(test.rule(), rank, whole_count_of(test)), size_of(test.type),
                      {0, input_count(test)}, const_cast<std::byte*>(operands.inputs[index]));
    }
}

std::int64_t count_wrong(const Buffers& buffers, const Case& test) {
    const Operands operands = operands_of(buffers, test);
    const Expectation expectation(test, operands);
    std::int64_t wrong = 0;
    for (int rank = 0; rank < test.ranks; ++rank) wrong += expectation.wrong(rank);
    return wrong;
}

}  // namespace rondo::bench
