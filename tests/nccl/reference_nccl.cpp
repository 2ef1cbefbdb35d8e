// The functions of nccl.h that the baseline calls, done on the host in the simplest way. With it
// the baseline itself is tested where there is no GPU; it says nothing about NCCL.
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/kernels.hpp"
#include "rondo/schedule.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/nccl/data_rule.hpp"

using rondo::Collective;
using rondo::ElementType;
using rondo::ReduceOp;

struct ReferenceCall {
    enum class Kind { collective, send, receive };
    Kind kind = Kind::collective;
    Collective collective = Collective::all_reduce;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t count = 0;
    ncclDataType_t type = ncclFloat32;
    ncclRedOp_t op = ncclSum;
    int peer = 0;  ///< or the root
};

/// One rank. All of one ncclCommInitAll() know each other.
struct ncclComm {
    std::shared_ptr<std::vector<ncclComm*>> all;
    std::vector<double> factors;  ///< of operators beyond ncclNumOps
    std::vector<ReferenceCall> calls;
};

namespace {

int open_groups = 0;
std::vector<ncclComm*> touched;

ElementType element_type(ncclDataType_t type) {
    switch (type) {
        case ncclInt8:
            return ElementType::i8;
        case ncclUint8:
            return ElementType::u8;
        case ncclInt32:
            return ElementType::i32;
        case ncclUint32:
            return ElementType::u32;
        case ncclInt64:
            return ElementType::i64;
        case ncclUint64:
            return ElementType::u64;
        case ncclFloat16:
            return ElementType::f16;
        case ncclFloat32:
            return ElementType::f32;
        case ncclFloat64:
            return ElementType::f64;
        case ncclBfloat16:
            return ElementType::bf16;
        case ncclFloat8e4m3:
            return ElementType::f8e4m3;
        default:
            return ElementType::f8e5m2;
    }
}

std::size_t bytes_of(const ReferenceCall& call) {
    return call.count * rondo::size_of(element_type(call.type));
}

/// All inputs of the i-th calls, reduced; `count` elements.
std::vector<std::byte> reduced(const std::vector<ncclComm*>& all, std::size_t i,
                               std::size_t count) {
    const ElementType type = element_type(all[0]->calls[i].type);
    const ncclRedOp_t op = all[0]->calls[i].op;
    std::vector<const void*> sources;
    std::vector<std::uint64_t> factors;
    for (const ncclComm* rank : all) {
        const ReferenceCall& call = rank->calls[i];
        sources.push_back(call.input);
        if (call.op >= ncclNumOps) {
            factors.push_back(rondo::kernels::argument_bits(
                type, rank->factors[static_cast<std::size_t>(call.op - ncclNumOps)]));
        }
    }
    const ReduceOp reduction = !factors.empty() ? ReduceOp::premul_sum
                               : op == ncclAvg  ? ReduceOp::mean
                               : op == ncclProd ? ReduceOp::prod
                               : op == ncclMax  ? ReduceOp::max
                               : op == ncclMin  ? ReduceOp::min
                                                : ReduceOp::sum;
    const auto ranks = static_cast<std::uint32_t>(all.size());
    return rondo::test::expected_result(type, reduction,
                                        {.sources = sources.data(),
                                         .source_count = ranks,
                                         .destination_count = 1,
                                         .count = count,
                                         .factors = factors.data(),
                                         .divisor = ranks});
}

void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

void run_collective(const std::vector<ncclComm*>& all, std::size_t i) {
    const ReferenceCall first = all[0]->calls[i];
    const std::size_t bytes = bytes_of(first);
    std::vector<std::byte> result;
    if (bytes == 0) return;
    if (rondo::reduces(first.collective)) {
        const bool scatters = first.collective == Collective::reduce_scatter;
        result = reduced(all, i, first.count * (scatters ? all.size() : 1));
    } else if (first.collective == Collective::broadcast) {
        result.resize(bytes);
        copy(result.data(), all[static_cast<std::size_t>(first.peer)]->calls[i].input, bytes);
    } else {
        for (const ncclComm* rank : all) {
            const auto* const part = static_cast<const std::byte*>(rank->calls[i].input);
            result.insert(result.end(), part, part + bytes);
        }
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        void* const output = all[rank]->calls[i].output;
        if (first.collective == Collective::reduce_scatter) {
            copy(output, result.data() + rank * bytes, bytes);
        } else if (first.collective != Collective::reduce ||
                   rank == static_cast<std::size_t>(first.peer)) {
            copy(output, result.data(), result.size());
        }
    }
}

void run_send(const std::vector<ncclComm*>& all, std::size_t sender, const ReferenceCall& send) {
    for (const ReferenceCall& call : all[static_cast<std::size_t>(send.peer)]->calls) {
        if (call.kind == ReferenceCall::Kind::receive &&
            static_cast<std::size_t>(call.peer) == sender) {
            return copy(call.output, send.input, bytes_of(send));
        }
    }
    throw std::logic_error("nobody receives what is sent");
}

ncclResult_t run_group() {
    for (ncclComm* communicator : touched) {
        const std::vector<ncclComm*> all = *communicator->all;
        for (std::size_t i = 0; i < all[0]->calls.size(); ++i) {
            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                const ReferenceCall& call = all[rank]->calls[i];
                if (call.kind == ReferenceCall::Kind::send) run_send(all, rank, call);
            }
            if (all[0]->calls[i].kind == ReferenceCall::Kind::collective) run_collective(all, i);
        }
        for (ncclComm* rank : all) rank->calls.clear();
    }
    touched.clear();
    return ncclSuccess;
}

/// What is on the stream before must be done: memory is read and written at the group's end.
ncclResult_t enqueue(ncclComm* communicator, cudaStream_t stream, const ReferenceCall& call) {
    if (open_groups == 0 || cudaStreamSynchronize(stream) != cudaSuccess) return ncclInvalidUsage;
    communicator->calls.push_back(call);
    touched.push_back(communicator);
    return ncclSuccess;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "an error of the reference";
}
const char* ncclGetLastError(ncclComm_t) {
    return "";
}

ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int count, const int*) {
    auto all = std::make_shared<std::vector<ncclComm*>>();
    for (int rank = 0; rank < count; ++rank) {
        communicators[rank] = new ncclComm{all, {}, {}};
        all->push_back(communicators[rank]);
    }
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
    delete communicator;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    ++open_groups;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    return --open_groups == 0 ? run_group() : ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t, ncclComm_t communicator) {
    *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(communicator->factors.size()));
    communicator->factors.push_back(rondo::test::with_element(element_type(type), [&]<class T>() {
        return rondo::test::number_of(*static_cast<const T*>(scalar));
    }));
    return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.collective = Collective::all_reduce,
                    .input = input,
                    .output = output,
                    .count = count,
                    .type = type,
                    .op = op});
}
ncclResult_t ncclReduce(const void* input, void* output, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.collective = Collective::reduce,
                    .input = input,
                    .output = output,
                    .count = count,
                    .type = type,
                    .op = op,
                    .peer = root});
}
ncclResult_t ncclBroadcast(const void* input, void* output, size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.collective = Collective::broadcast,
                    .input = input,
                    .output = output,
                    .count = count,
                    .type = type,
                    .peer = root});
}
ncclResult_t ncclReduceScatter(const void* input, void* output, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.collective = Collective::reduce_scatter,
                    .input = input,
                    .output = output,
                    .count = count,
                    .type = type,
                    .op = op});
}
ncclResult_t ncclAllGather(const void* input, void* output, size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.collective = Collective::all_gather,
                    .input = input,
                    .output = output,
                    .count = count,
                    .type = type});
}
ncclResult_t ncclSend(const void* input, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.kind = ReferenceCall::Kind::send,
                    .input = input,
                    .count = count,
                    .type = type,
                    .peer = peer});
}
ncclResult_t ncclRecv(void* output, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
    return enqueue(communicator, stream,
                   {.kind = ReferenceCall::Kind::receive,
                    .output = output,
                    .count = count,
                    .type = type,
                    .peer = peer});
}

}  // extern "C"
