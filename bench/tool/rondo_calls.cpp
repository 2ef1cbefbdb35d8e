// A case as calls of Rondo's public API: one call of all ranks, or one call per rank.
#include "bench/tool/rondo_calls.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "bench/tool/with_type.hpp"

namespace rondo::bench {
namespace {

template <class T>
const T* typed(const std::byte* bytes) {
    return reinterpret_cast<const T*>(bytes);
}
template <class T>
T* typed(std::byte* bytes) {
    return reinterpret_cast<T*>(bytes);
}

/// What all element types and collectives share.
class CallsOfRanks : public RondoCalls {
public:
    CallsOfRanks(const CallContext& context, const Buffers& buffers, const Case& test)
        : context_(context),
          test_(test),
          operands_(operands_of(buffers, test)),
          works_(static_cast<std::size_t>(test.ranks)) {
        for (int rank = 0; rank < test.ranks; ++rank) {
            handles_.push_back(context_.communicator.rank(rank));
            factors_.push_back(factor_of(rank));
        }
    }

    void call_all() override {
        for (std::size_t rank = 0; rank < works_.size(); ++rank) {
            works_[rank] = call(static_cast<int>(rank));
        }
    }
    void wait() override {
        for (Work& work : works_) work.wait();
    }

protected:
    CallOptions options_of(int rank) const {
        const auto index = static_cast<std::size_t>(rank);
        CallOptions options{.streams = std::span(&context_.streams[index], 1),
                            .strategy = context_.strategy};
        if (test_.op == ReduceOp::premul_sum) options.factors = std::span(&factors_[index], 1);
        return options;
    }
    CallOptions options_of_all() const {
        CallOptions options{.streams = context_.streams, .strategy = context_.strategy};
        if (test_.op == ReduceOp::premul_sum) options.factors = factors_;
        return options;
    }

    CallContext context_;
    const Case test_;
    const Operands operands_;
    std::vector<RankHandle> handles_;
    std::vector<double> factors_;
    std::vector<Work> works_;
};

template <class T>
class TypedCalls : public CallsOfRanks {
public:
    using CallsOfRanks::CallsOfRanks;

    Work call(int rank) override {
        const auto index = static_cast<std::size_t>(rank);
        const RankHandle& handle = handles_[index];
        const T* const input = typed<T>(operands_.inputs[index]);
        T* const output = typed<T>(operands_.outputs[index]);
        const std::uint64_t count = test_.shape.count;
        const CallOptions options = options_of(rank);
        switch (test_.operation) {
            case Operation::all_reduce:
            case Operation::batch_reduce:
                return handle.all_reduce(test_.op, input, output, count, options);
            case Operation::reduce:
                return handle.reduce(test_.op, input, output, count, test_.root, options);
            case Operation::broadcast:
                return handle.broadcast(input, output, count, test_.root, options);
            case Operation::reduce_scatter:
                return handle.reduce_scatter(test_.op, input, output, count, options);
            case Operation::all_gather:
                return handle.all_gather(input, output, count, options);
            case Operation::all_to_all:
                return handle.all_to_all(input, output, count, options);
            case Operation::gather:
                return handle.gather(input, output, count, test_.root, options);
            case Operation::scatter:
                return handle.scatter(input, output, count, test_.root, options);
            case Operation::sendrecv:
                return shift(rank, options);
        }
        throw Unsupported("no such collective");
    }

private:
    /// To the next, from the one before, side by side.
    Work shift(int rank, const CallOptions& options) {
        const auto index = static_cast<std::size_t>(rank);
        const int ranks = test_.ranks, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
        const T* const input = typed<T>(operands_.inputs[index]);
        T* const output = typed<T>(operands_.outputs[index]);
        const std::array transfers{send_to(to, input, test_.shape.count),
                                   receive_from(from, output, test_.shape.count)};
        return handles_[index].exchange(transfers, options);
    }
};

/// One call that serves all ranks: all_reduce, reduce_scatter, all_gather.
template <class T>
class CallsAtOnce final : public TypedCalls<T> {
public:
    CallsAtOnce(const CallContext& context, const Buffers& buffers, const Case& test)
        : TypedCalls<T>(context, buffers, test) {
        const std::uint64_t count = test.shape.count,
                            all = count * static_cast<std::uint64_t>(test.ranks);
        const std::uint64_t inputs = test.operation == Operation::reduce_scatter ? all : count;
        const std::uint64_t outputs = test.operation == Operation::all_gather ? all : count;
        std::vector<Tensor<const T>> from;
        std::vector<Tensor<T>> to;
        for (std::size_t rank = 0; rank < this->operands_.inputs.size(); ++rank) {
            const int device = buffers.device(static_cast<int>(rank));
            from.emplace_back(device, typed<T>(this->operands_.inputs[rank]), inputs);
            to.emplace_back(device, typed<T>(this->operands_.outputs[rank]), outputs);
        }
        inputs_ = PerReplica<const T>(std::move(from));
        outputs_ = PerReplica<T>(std::move(to));
        options_ = this->options_of_all();
    }

    void call_all() override {
        Communicator& communicator = this->context_.communicator;
        switch (this->test_.operation) {
            case Operation::reduce_scatter:
                work_ = communicator.reduce_scatter(this->test_.op, inputs_, outputs_, options_);
                break;
            case Operation::all_gather:
                work_ = communicator.all_gather(inputs_, outputs_, options_);
                break;
            default:
                work_ = this->test_.in_place
                            ? communicator.all_reduce(this->test_.op, outputs_, options_)
                            : communicator.all_reduce(this->test_.op, inputs_, outputs_, options_);
        }
    }
    void wait() override { work_.wait(); }

private:
    PerReplica<const T> inputs_;
    PerReplica<T> outputs_;
    CallOptions options_;
    Work work_;
};

/// A batch of tensors. Its results are new memory; the last ones are copied to where they are
/// checked.
template <class T>
class BatchCalls final : public CallsOfRanks {
public:
    BatchCalls(const CallContext& context, const Buffers& buffers, const Case& test)
        : CallsOfRanks(context, buffers, test) {
        std::uint64_t first = 0;
        for (const std::uint64_t count : test.tensors) {
            std::vector<Tensor<T>> replicas;
            for (std::size_t rank = 0; rank < operands_.inputs.size(); ++rank) {
                const T* const input = typed<T>(operands_.inputs[rank]) + first;
                replicas.emplace_back(buffers.device(static_cast<int>(rank)), const_cast<T*>(input),
                                      count);
            }
            PerReplica<T> value(std::move(replicas));
            pairs_.emplace_back(value, Destinations(value));
            first += count;
        }
        options_ = options_of_all();
        options_.work = &work_;
    }

    Work call(int) override {
        throw Unsupported("batch_reduce has no calls of single ranks: use -t 1");
    }
    void call_all() override {
        // The results before must not go while they are still written.
        if (!results_.empty()) work_.wait();
        results_ = context_.communicator.batch_reduce(test_.op, pairs_, options_);
    }
    void wait() override {
        work_.wait();
        std::uint64_t first = 0;
        if (!copied_) {
            for (const Mirrored<T>& result : results_) {
                copy_out(result, first);
                first += result[0].size();
            }
        }
        copied_ = true;  // once, for the check; it is not part of what is timed
    }

private:
    void copy_out(const Mirrored<T>& result, std::uint64_t first) {
        for (std::size_t rank = 0; rank < result.size(); ++rank) {
            cudaMemcpy(typed<T>(operands_.outputs[rank]) + first, result[rank].data(),
                       result[rank].size() * sizeof(T), cudaMemcpyDefault);
        }
    }

    std::vector<Communicator::ReducePair<T>> pairs_;
    std::vector<Mirrored<T>> results_;
    CallOptions options_;
    Work work_;
    bool copied_ = false;
};

}  // namespace

std::unique_ptr<RondoCalls> make_calls(const CallContext& context, const Buffers& buffers,
                                       const Case& test) {
    return with_type(test.type, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<RondoCalls> {
        switch (test.operation) {
            case Operation::all_reduce:
            case Operation::reduce_scatter:
            case Operation::all_gather:
                return std::make_unique<CallsAtOnce<T>>(context, buffers, test);
            case Operation::batch_reduce:
                return std::make_unique<BatchCalls<T>>(context, buffers, test);
            default:
                return std::make_unique<TypedCalls<T>>(context, buffers, test);
        }
    });
}

}  // namespace rondo::bench
