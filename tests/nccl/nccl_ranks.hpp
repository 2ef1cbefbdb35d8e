// The collectives of the conformance suite, written against nccl.h.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "rondo/schedule.hpp"
#include "rondo/types.hpp"

namespace rondo::test {

class NcclError : public std::runtime_error {
public:
    NcclError(ncclResult_t result, const std::string& call);
    ncclResult_t result() const { return result_; }

private:
    ncclResult_t result_;
};

/// One call of all ranks. Counts are those of NCCL: of one rank's part for reduce_scatter and
/// all_gather.
struct NcclCall {
    Collective collective = Collective::all_reduce;
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint64_t count = 0;
    int root = 0;
    std::span<const double> factors = {};  ///< premul_sum: of each rank
};

/// A communicator of NCCL over the first devices of the machine.
class NcclRanks {
public:
    explicit NcclRanks(int ranks);
    ~NcclRanks();
    NcclRanks(const NcclRanks&) = delete;
    NcclRanks& operator=(const NcclRanks&) = delete;

    /// Returns when all ranks are done.
    void run(const NcclCall& call, std::span<void* const> inputs, std::span<void* const> outputs);
    /// Every rank sends to the next and receives from the one before.
    void shift(ElementType type, std::uint64_t count, std::span<void* const> inputs,
               std::span<void* const> outputs);

private:
    template <class Body>
    void group(Body body);

    std::vector<ncclComm_t> communicators_;
    std::vector<cudaStream_t> streams_;
};

}  // namespace rondo::test
