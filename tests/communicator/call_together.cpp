#include "tests/communicator/call_together.hpp"

#include <cuda_runtime_api.h>

#include "tests/communicator/test_memory.hpp"
#include "tests/communicator/with_element.hpp"

namespace rondo::test {
namespace {

template <class T>
class Caller {
public:
    Caller(Communicator& communicator, const CallTogether& call,
           const std::vector<CallMemory>& memory, const CallOptions& options)
        : communicator_(communicator), call_(call), memory_(memory), options_(options) {
        for (std::size_t rank = 0; rank < memory.size(); ++rank) {
            inputs_.push_back(input(rank));
            outputs_.push_back(output(rank));
        }
    }

    Work run() {
        const PerReplica<const T> inputs(inputs_);
        const PerReplica<T> outputs(outputs_);
        switch (call_.collective) {
            case Collective::all_reduce:
                return communicator_.all_reduce(call_.op, inputs, outputs, options_);
            case Collective::reduce_scatter:
                return communicator_.reduce_scatter(call_.op, inputs, outputs, options_);
            case Collective::all_gather:
                return communicator_.all_gather(inputs, outputs, options_);
            case Collective::all_to_all:
                return call_.pair_counts.empty()
                           ? communicator_.all_to_all(inputs, outputs, options_)
                           : communicator_.all_to_all(inputs, outputs, call_.pair_counts, options_);
            case Collective::gather:
                return communicator_.gather(inputs, outputs[call_.root], options_);
            case Collective::scatter:
                return communicator_.scatter(inputs[call_.root], outputs, options_);
            default:
                break;
        }
        Work work;
        CallOptions with_work = options_;
        with_work.work = &work;
        if (call_.collective == Collective::reduce) {
            keep(communicator_.reduce(call_.op, inputs, outputs_[call_.root], with_work), work);
        } else {
            keep(communicator_.broadcast(inputs[call_.root], outputs, with_work), work);
        }
        return work;
    }

private:
    Tensor<const T> input(std::size_t rank) const {
        return {communicator_.device(static_cast<int>(rank)),
                reinterpret_cast<const T*>(memory_[rank].input), memory_[rank].input_count};
    }
    Tensor<T> output(std::size_t rank) const {
        return {communicator_.device(static_cast<int>(rank)),
                reinterpret_cast<T*>(memory_[rank].output), memory_[rank].output_count};
    }

    void keep(const Mirrored<T>& results, Work& work) {
        work.wait();
        for (const Tensor<T>& target : outputs_) {
            if (target.size() == 0) continue;
            require_success(cudaSetDevice(target.device()));  // what follows there comes behind
            require_success(cudaMemcpy(target.data(), results.on_device(target.device()).data(),
                                       target.size() * sizeof(T), cudaMemcpyDefault));
        }
    }

    Communicator& communicator_;
    const CallTogether& call_;
    const std::vector<CallMemory>& memory_;
    const CallOptions& options_;
    std::vector<Tensor<const T>> inputs_;
    std::vector<Tensor<T>> outputs_;
};

}  // namespace

Work call_together(Communicator& communicator, const CallTogether& call,
                   const std::vector<CallMemory>& memory, const CallOptions& options) {
    return with_element(
        call.type, [&]<class T>() { return Caller<T>(communicator, call, memory, options).run(); });
}

}  // namespace rondo::test
