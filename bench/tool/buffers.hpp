// The memory that all contestants work on, and where in it a case's operands lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/tool/exact_data.hpp"
#include "bench/tool/operation.hpp"

namespace rondo::bench {

/// One half of a row: what is called, on what.
struct Case {
    Operation operation = Operation::all_reduce;
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    int root = 0;
    int ranks = 1;
    Shape shape = {};
    bool in_place = false;
    std::vector<std::uint64_t> tensors = {};  ///< batch_reduce: elements of each

    DataRule rule() const { return {type, op, ranks}; }
};

/// Two arrays per rank, on its device, with room for the largest message.
class Buffers {
public:
    /// Throws CudaError when there is not enough memory. `unalign` bytes are left free at the
    /// front.
    Buffers(const std::vector<int>& devices, std::size_t bytes, std::size_t unalign);
    ~Buffers();
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;

    int ranks() const { return static_cast<int>(devices_.size()); }
    int device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }
    std::byte* send(int rank) const {
        return memory_[static_cast<std::size_t>(2 * rank)] + unalign_;
    }
    std::byte* receive(int rank) const {
        return memory_[static_cast<std::size_t>(2 * rank + 1)] + unalign_;
    }

private:
    void free_all() noexcept;

    std::vector<int> devices_;
    std::vector<std::byte*> memory_;
    std::size_t unalign_;
};

/// Operands of every rank.
struct Operands {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
};
Operands operands_of(const Buffers& buffers, const Case& test);

/// Fills the inputs with exact data, and the outputs with rubbish.
void fill(const Buffers& buffers, const Case& test);
/// Elements of all outputs that are not what they should be.
std::int64_t count_wrong(const Buffers& buffers, const Case& test);

}  // namespace rondo::bench
