// One group call per collective, one stream per rank.
#include "tests/nccl/nccl_ranks.hpp"

#include "tests/communicator/test_memory.hpp"
#include "tests/nccl/data_rule.hpp"

namespace rondo::test {
namespace {

void require_nccl(ncclResult_t result, const char* call) {
    if (result != ncclSuccess) throw NcclError(result, call);
}

ncclDataType_t nccl_type(ElementType type) {
    switch (type) {
        case ElementType::i8:
            return ncclInt8;
        case ElementType::u8:
            return ncclUint8;
        case ElementType::i32:
            return ncclInt32;
        case ElementType::u32:
            return ncclUint32;
        case ElementType::i64:
            return ncclInt64;
        case ElementType::u64:
            return ncclUint64;
        case ElementType::f16:
            return ncclFloat16;
        case ElementType::bf16:
            return ncclBfloat16;
        case ElementType::f32:
            return ncclFloat32;
        case ElementType::f64:
            return ncclFloat64;
        case ElementType::f8e4m3:
            return ncclFloat8e4m3;
        default:
            return ncclFloat8e5m2;
    }
}

/// The operator of one rank; premul_sum has one of its own.
class NcclOperator {
public:
    NcclOperator(const NcclCall& call, std::size_t rank, ncclComm_t communicator)
        : communicator_(communicator) {
        switch (call.op) {
            case ReduceOp::mean:
                op_ = ncclAvg;
                break;
            case ReduceOp::prod:
                op_ = ncclProd;
                break;
            case ReduceOp::min:
                op_ = ncclMin;
                break;
            case ReduceOp::max:
                op_ = ncclMax;
                break;
            case ReduceOp::premul_sum:
                with_element(call.type, [&]<class T>() {
                    T factor = element_of<T>(call.factors[rank]);
                    require_nccl(ncclRedOpCreatePreMulSum(&op_, &factor, nccl_type(call.type),
                                                          ncclScalarHostImmediate, communicator),
                                 "ncclRedOpCreatePreMulSum");
                });
                owned_ = true;
                break;
            default:
                break;
        }
    }
    ~NcclOperator() {
        if (owned_) ncclRedOpDestroy(op_, communicator_);
    }
    NcclOperator(const NcclOperator&) = delete;
    NcclOperator& operator=(const NcclOperator&) = delete;

    ncclRedOp_t get() const { return op_; }

private:
    ncclComm_t communicator_;
    ncclRedOp_t op_ = ncclSum;
    bool owned_ = false;
};

void enqueue(const NcclCall& call, const void* input, void* output, ncclRedOp_t op,
             ncclComm_t communicator, cudaStream_t stream) {
    const ncclDataType_t type = nccl_type(call.type);
    switch (call.collective) {
        case Collective::all_reduce:
            return require_nccl(
                ncclAllReduce(input, output, call.count, type, op, communicator, stream),
                "ncclAllReduce");
        case Collective::reduce:
            return require_nccl(
                ncclReduce(input, output, call.count, type, op, call.root, communicator, stream),
                "ncclReduce");
        case Collective::broadcast:
            return require_nccl(
                ncclBroadcast(input, output, call.count, type, call.root, communicator, stream),
                "ncclBroadcast");
        case Collective::reduce_scatter:
            return require_nccl(
                ncclReduceScatter(input, output, call.count, type, op, communicator, stream),
                "ncclReduceScatter");
        default:
            return require_nccl(
                ncclAllGather(input, output, call.count, type, communicator, stream),
                "ncclAllGather");
    }
}

}  // namespace

NcclError::NcclError(ncclResult_t result, const std::string& call)
    : std::runtime_error(call + ": " + ncclGetErrorString(result) + ". " +
                         ncclGetLastError(nullptr)),
      result_(result) {}

NcclRanks::NcclRanks(int ranks)
    : communicators_(static_cast<std::size_t>(ranks)), streams_(communicators_.size()) {
    require_nccl(ncclCommInitAll(communicators_.data(), ranks, nullptr), "ncclCommInitAll");
    for (int rank = 0; rank < ranks; ++rank) {
        require_success(cudaSetDevice(rank));
        require_success(cudaStreamCreateWithFlags(&streams_[static_cast<std::size_t>(rank)],
                                                  cudaStreamNonBlocking));
    }
}

NcclRanks::~NcclRanks() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    for (ncclComm_t communicator : communicators_) ncclCommDestroy(communicator);
}

/// body(rank) enqueues the rank's part. The group is ended also when it throws.
template <class Body>
void NcclRanks::group(Body body) {
    require_nccl(ncclGroupStart(), "ncclGroupStart");
    try {
        for (std::size_t rank = 0; rank < communicators_.size(); ++rank) body(rank);
    } catch (...) {
        ncclGroupEnd();
        throw;
    }
    require_nccl(ncclGroupEnd(), "ncclGroupEnd");
    for (cudaStream_t stream : streams_) require_success(cudaStreamSynchronize(stream));
}

void NcclRanks::run(const NcclCall& call, std::span<void* const> inputs,
                    std::span<void* const> outputs) {
    std::vector<std::unique_ptr<NcclOperator>> operators;
    for (std::size_t rank = 0; rank < communicators_.size(); ++rank) {
        operators.push_back(std::make_unique<NcclOperator>(call, rank, communicators_[rank]));
    }
    group([&](std::size_t rank) {
        enqueue(call, inputs[rank], outputs[rank], operators[rank]->get(), communicators_[rank],
                streams_[rank]);
    });
}

void NcclRanks::shift(ElementType type, std::uint64_t count, std::span<void* const> inputs,
                      std::span<void* const> outputs) {
    const std::size_t ranks = communicators_.size();
    group([&](std::size_t rank) {
        const int next = static_cast<int>((rank + 1) % ranks);
        const int before = static_cast<int>((rank + ranks - 1) % ranks);
        require_nccl(ncclSend(inputs[rank], count, nccl_type(type), next, communicators_[rank],
                              streams_[rank]),
                     "ncclSend");
        require_nccl(ncclRecv(outputs[rank], count, nccl_type(type), before, communicators_[rank],
                              streams_[rank]),
                     "ncclRecv");
    });
}

}  // namespace rondo::test
