// Copies weights from one GPU to all.
#include <cstdio>
#include <numeric>
#include <vector>

#include <rondo/communicator.hpp>

int main() try {
    rondo::Communicator comm = rondo::Communicator::create();

    // The last GPU has the weights.
    std::vector<float> host(1'000'003);
    std::iota(host.begin(), host.end(), 0.0f);
    const std::size_t bytes = host.size() * sizeof(float);
    const auto weights = rondo::Tensor<float>::allocate(comm.device(comm.size() - 1), host.size());
    cudaMemcpy(weights.data(), host.data(), bytes, cudaMemcpyDefault);

    rondo::Work work;
    const rondo::Mirrored<float> copies =
        comm.broadcast(weights, rondo::Destinations(comm.devices()), {.work = &work});
    work.wait();

    for (const int device : comm.devices()) {
        std::vector<float> seen(host.size());
        cudaMemcpy(seen.data(), copies.on_device(device).data(), bytes, cudaMemcpyDefault);
        if (seen != host) throw rondo::Error("a copy is wrong");
    }
    std::printf("%d GPUs have the weights of device %d\n", comm.size(), weights.device());
} catch (const std::exception& error) {
    std::fprintf(stderr, "broadcast: %s\n", error.what());
    return 1;
}
