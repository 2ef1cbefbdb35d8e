// Averages a list of gradients of different sizes across all GPUs, in one call. They are reduced as
// if they lay one behind the other, but nothing is copied together.
#include <cstdio>
#include <vector>

#include <rondo/communicator.hpp>

namespace {

/// One tensor per GPU; that of rank r holds first + 2 * r everywhere.
rondo::PerReplica<float> make_gradient(const rondo::Communicator& comm, std::size_t size,
                                       float first) {
    std::vector<rondo::Tensor<float>> tensors;
    for (const int device : comm.devices()) {
        tensors.push_back(rondo::Tensor<float>::allocate(device, size));
        const std::vector<float> host(size, first + 2 * static_cast<float>(tensors.size() - 1));
        cudaMemcpy(tensors.back().data(), host.data(), size * sizeof(float), cudaMemcpyDefault);
    }
    return rondo::PerReplica<float>(tensors);
}

bool holds(const rondo::Mirrored<float>& value, float expected) {
    for (const auto& tensor : value) {
        std::vector<float> host(tensor.size());
        cudaMemcpy(host.data(), tensor.data(), host.size() * sizeof(float), cudaMemcpyDefault);
        if (host != std::vector<float>(host.size(), expected)) return false;
    }
    return true;
}

}  // namespace

int main() try {
    rondo::Communicator comm = rondo::Communicator::create();
    const std::vector<std::size_t> sizes = {786'432, 1, 1'000, 3, 0, 250'001};

    // What is reduced, and where its result goes: here each gradient back to all its devices.
    std::vector<rondo::Communicator::ReducePair<float>> gradients;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto gradient = make_gradient(comm, sizes[i], static_cast<float>(i));
        gradients.emplace_back(gradient, gradient);
    }

    rondo::Work work;
    const std::vector<rondo::Mirrored<float>> means =
        comm.batch_reduce(rondo::ReduceOp::mean, gradients, {.work = &work});
    work.wait();

    for (std::size_t i = 0; i < means.size(); ++i) {
        const auto expected = static_cast<float>(i + static_cast<std::size_t>(comm.size()) - 1);
        if (!holds(means[i], expected)) throw rondo::Error("a gradient is wrong");
        std::printf("gradient %zu: %zu elements, mean %g\n", i, sizes[i], expected);
    }
    std::printf("%d GPUs: all %zu gradients are right\n", comm.size(), means.size());
} catch (const std::exception& error) {
    std::fprintf(stderr, "batch_reduce: %s\n", error.what());
    return 1;
}
