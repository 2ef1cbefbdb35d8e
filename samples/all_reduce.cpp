// Sums a tensor across all GPUs, in place.
#include <cstdio>
#include <vector>

#include <rondo/communicator.hpp>

void fill(const rondo::Tensor<float>& tensor, float value) {
    const std::vector<float> host(tensor.size(), value);
    cudaMemcpy(tensor.data(), host.data(), host.size() * sizeof(float), cudaMemcpyDefault);
}

bool holds(const rondo::Tensor<float>& tensor, float value) {
    std::vector<float> host(tensor.size());
    cudaMemcpy(host.data(), tensor.data(), host.size() * sizeof(float), cudaMemcpyDefault);
    return host == std::vector<float>(tensor.size(), value);
}

int main() try {
    rondo::Communicator comm = rondo::Communicator::create();  // all GPUs of this machine

    std::vector<rondo::Tensor<float>> tensors;  // one per GPU; they hold 1, 2, 3 ...
    for (const int device : comm.devices()) {
        tensors.push_back(rondo::Tensor<float>::allocate(device, 1'000'000));
        fill(tensors.back(), static_cast<float>(tensors.size()));
    }

    rondo::Work work = comm.all_reduce(rondo::ReduceOp::sum, rondo::PerReplica<float>(tensors));
    work.wait();  // the call itself is asynchronous, like a kernel launch

    const auto expected = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
    for (const auto& tensor : tensors) {
        if (!holds(tensor, expected)) throw rondo::Error("wrong sum");
    }
    std::printf("%d GPUs: every element is %g\n", comm.size(), expected);
} catch (const std::exception& error) {
    std::fprintf(stderr, "all_reduce: %s\n", error.what());
    return 1;
}
