// NCCL, or a library with its interface, in this process: loaded when it is asked for.
#include "bench/tool/nccl_contestant.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/tool/cuda_check.hpp"

namespace rondo::bench {
namespace {

// NCCL's interface as far as it is used: its numbers are stable since version 2.
using NcclComm = void*;
using NcclResult = int;

int nccl_type_number(ElementType type) {
    switch (type) {
        case ElementType::i8:
            return 0;
        case ElementType::u8:
            return 1;
        case ElementType::i32:
            return 2;
        case ElementType::u32:
            return 3;
        case ElementType::i64:
            return 4;
        case ElementType::u64:
            return 5;
        case ElementType::f16:
            return 6;
        case ElementType::f32:
            return 7;
        case ElementType::f64:
            return 8;
        case ElementType::bf16:
            return 9;
        case ElementType::f8e4m3:
            return 10;
        case ElementType::f8e5m2:
            return 11;
    }
    return 7;
}

int nccl_op_number(ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return 0;
        case ReduceOp::prod:
            return 1;
        case ReduceOp::max:
            return 2;
        case ReduceOp::min:
            return 3;
        case ReduceOp::mean:
            return 4;
        case ReduceOp::premul_sum:
            break;
    }
    throw Unsupported("mulsum is not compared with NCCL");
}

class NcclLibrary {
public:
    explicit NcclLibrary(const std::string& file) : file_(file) {
        handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) {
            throw Unsupported(fmt::format(
                "{} can't be loaded ({}); install NCCL (apt install libnccl2, or pip install "
                "nvidia-nccl-cu13) or name its file: --against nccl:FILE.so",
                file, dlerror()));
        }
        load(init_all, "ncclCommInitAll");
        load(destroy, "ncclCommDestroy");
        load(error_string, "ncclGetErrorString");
        load(get_version, "ncclGetVersion");
        load(group_start, "ncclGroupStart");
        load(group_end, "ncclGroupEnd");
        load(all_reduce, "ncclAllReduce");
        load(reduce, "ncclReduce");
        load(broadcast, "ncclBroadcast");
        load(reduce_scatter, "ncclReduceScatter");
        load(all_gather, "ncclAllGather");
        load(send, "ncclSend");
        load(receive, "ncclRecv");
    }
    // Never unloaded: it may have threads.

    void require(NcclResult result, const char* what) const {
        if (result != 0) {
            throw Error(fmt::format("{}: {} failed: {}", file_, what, error_string(result)));
        }
    }

    NcclResult (*init_all)(NcclComm*, int, const int*) = nullptr;
    NcclResult (*destroy)(NcclComm) = nullptr;
    const char* (*error_string)(NcclResult) = nullptr;
    NcclResult (*get_version)(int*) = nullptr;
    NcclResult (*group_start)() = nullptr;
    NcclResult (*group_end)() = nullptr;
    NcclResult (*all_reduce)(const void*, void*, std::size_t, int, int, NcclComm,
                             cudaStream_t) = nullptr;
    NcclResult (*reduce)(const void*, void*, std::size_t, int, int, int, NcclComm,
                         cudaStream_t) = nullptr;
    NcclResult (*broadcast)(const void*, void*, std::size_t, int, int, NcclComm,
                            cudaStream_t) = nullptr;
    NcclResult (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclComm,
                                 cudaStream_t) = nullptr;
    NcclResult (*all_gather)(const void*, void*, std::size_t, int, NcclComm,
                             cudaStream_t) = nullptr;
    NcclResult (*send)(const void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;
    NcclResult (*receive)(void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;

private:
    template <class Function>
    void load(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(handle_, name));
        if (function == nullptr) throw Unsupported(fmt::format("{} has no {}", file_, name));
    }

    std::string file_;
    void* handle_ = nullptr;
};

class NcclContestant final : public Contestant {
public:
    NcclContestant(const std::string& name, const std::string& file, const Buffers& buffers)
        : name_(name), nccl_(file), buffers_(buffers) {
        std::vector<int> devices;
        for (int rank = 0; rank < buffers.ranks(); ++rank) devices.push_back(buffers.device(rank));
        std::vector<NcclComm> communicators(devices.size());
        nccl_.require(nccl_.init_all(communicators.data(), buffers.ranks(), devices.data()),
                      "ncclCommInitAll");
        communicators_ = communicators;
        for (const int device : devices) {
            check(cudaSetDevice(device), "cudaSetDevice");
            check(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking),
                  "cudaStreamCreateWithFlags");
        }
    }
    ~NcclContestant() override {
        for (NcclComm communicator : communicators_) nccl_.destroy(communicator);
        for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    }

    std::string name() const override { return name_; }
    void begin(const Case& test) override {
        if (test.operation == Operation::batch_reduce) {
            throw Unsupported("batch_reduce is not compared with NCCL");
        }
        if (has_operator(test.operation)) nccl_op_number(test.op);
        test_ = test;
        operands_ = operands_of(buffers_, test);
    }
    double run(int warm_up, int iterations) override {
        calls(warm_up);
        const auto begin = std::chrono::steady_clock::now();
        calls(iterations);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        return taken.count() / std::max(iterations, 1);
    }

private:
    void calls(int count) {
        for (int i = 0; i < count; ++i) {
            nccl_.require(nccl_.group_start(), "ncclGroupStart");
            for (int rank = 0; rank < test_.ranks; ++rank) call(rank);
            nccl_.require(nccl_.group_end(), "ncclGroupEnd");
        }
        for (cudaStream_t stream : streams_) {
            check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        }
    }

    void call(int rank) {
        const auto index = static_cast<std::size_t>(rank);
        const std::byte* const input = operands_.inputs[index];
        std::byte* const output = operands_.outputs[index];
        const std::size_t count = test_.shape.count;
        const int type = nccl_type_number(test_.type);
        const int op = has_operator(test_.operation) ? nccl_op_number(test_.op) : 0;
        const NcclComm communicator = communicators_[index];
        const cudaStream_t stream = streams_[index];
        switch (test_.operation) {
            case Operation::all_reduce:
            case Operation::batch_reduce:
                return nccl_.require(
                    nccl_.all_reduce(input, output, count, type, op, communicator, stream),
                    "ncclAllReduce");
            case Operation::reduce:
                return nccl_.require(
                    nccl_.reduce(input, output, count, type, op, test_.root, communicator, stream),
                    "ncclReduce");
            case Operation::broadcast:
                return nccl_.require(
                    nccl_.broadcast(input, output, count, type, test_.root, communicator, stream),
                    "ncclBroadcast");
            case Operation::reduce_scatter:
                return nccl_.require(
                    nccl_.reduce_scatter(input, output, count, type, op, communicator, stream),
                    "ncclReduceScatter");
            case Operation::all_gather:
                return nccl_.require(
                    nccl_.all_gather(input, output, count, type, communicator, stream),
                    "ncclAllGather");
            case Operation::all_to_all:
            case Operation::sendrecv:
                return exchange(rank);
            case Operation::gather:
            case Operation::scatter:
                return with_root(rank);
        }
    }

    /// NCCL has no such calls of its own before 2.28: one message from or to every rank.
    void with_root(int rank) {
        const bool gathers = test_.operation == Operation::gather;
        const auto index = static_cast<std::size_t>(rank);
        const std::size_t part = test_.shape.count * size_of(test_.type);
        if (rank == test_.root) {
            for (int other = 0; other < test_.ranks; ++other) {
                const std::size_t offset = static_cast<std::size_t>(other) * part;
                if (gathers) {
                    receive(rank, operands_.outputs[index] + offset, other);
                } else {
                    send(rank, operands_.inputs[index] + offset, other);
                }
            }
        }
        if (gathers) {
            send(rank, operands_.inputs[index], test_.root);
        } else {
            receive(rank, operands_.outputs[index], test_.root);
        }
    }

    /// One part to every rank, or all to the next.
    void exchange(int rank) {
        const bool all = test_.operation == Operation::all_to_all;
        const auto index = static_cast<std::size_t>(rank);
        const std::size_t part = test_.shape.count * size_of(test_.type);
        for (int step = all ? 0 : 1; step < (all ? test_.ranks : 2); ++step) {
            const int to = (rank + step) % test_.ranks;
            const int from = (rank + test_.ranks - step) % test_.ranks;
            const std::size_t to_part = all ? static_cast<std::size_t>(to) * part : 0;
            const std::size_t from_part = all ? static_cast<std::size_t>(from) * part : 0;
            send(rank, operands_.inputs[index] + to_part, to);
            receive(rank, operands_.outputs[index] + from_part, from);
        }
    }

    void send(int rank, const std::byte* data, int to) {
        const auto index = static_cast<std::size_t>(rank);
        nccl_.require(nccl_.send(data, test_.shape.count, nccl_type_number(test_.type), to,
                                 communicators_[index], streams_[index]),
                      "ncclSend");
    }
    void receive(int rank, std::byte* data, int from) {
        const auto index = static_cast<std::size_t>(rank);
        nccl_.require(nccl_.receive(data, test_.shape.count, nccl_type_number(test_.type), from,
                                    communicators_[index], streams_[index]),
                      "ncclRecv");
    }

    std::string name_;
    NcclLibrary nccl_;
    const Buffers& buffers_;
    std::vector<NcclComm> communicators_;
    std::vector<cudaStream_t> streams_;
    Case test_ = {};
    Operands operands_ = {};
};

}  // namespace

std::unique_ptr<Contestant> make_nccl(const std::string& name, const std::string& file,
                                      const Buffers& buffers) {
    return std::make_unique<NcclContestant>(name, file, buffers);
}

}  // namespace rondo::bench
