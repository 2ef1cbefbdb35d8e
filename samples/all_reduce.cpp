// Sums a tensor across all GPUs, in place.
#include <cstdio>
#include <vector>

#include <rondo/communicator.hpp>

int main() try {
    rondo::Communicator comm = rondo::Communicator::create();  // all GPUs of this machine

    // The tensor of rank r holds r + 1 everywhere.
    std::vector<float> host(1'000'000);
    const std::size_t bytes = host.size() * sizeof(float);
    std::vector<rondo::Tensor<float>> tensors;
    for (const int device : comm.devices()) {
        tensors.push_back(rondo::Tensor<float>::allocate(device, host.size()));
        host.assign(host.size(), static_cast<float>(tensors.size()));
        cudaMemcpy(tensors.back().data(), host.data(), bytes, cudaMemcpyDefault);
    }

    rondo::Work work = comm.all_reduce(rondo::ReduceOp::sum, rondo::PerReplica<float>(tensors));
    work.wait();  // the call itself is asynchronous, as a kernel launch is

    const int n = comm.size();
    const std::vector<float> expected(host.size(), static_cast<float>(n * (n + 1) / 2));
    for (const auto& tensor : tensors) {
        cudaMemcpy(host.data(), tensor.data(), bytes, cudaMemcpyDefault);
        if (host != expected) throw rondo::Error("wrong sum");
    }
    std::printf("%d GPUs: every element is %g\n", n, expected[0]);
} catch (const std::exception& error) {
    std::fprintf(stderr, "all_reduce: %s\n", error.what());
    return 1;
}
