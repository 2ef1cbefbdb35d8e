// One thread per GPU: each works with the handle of its rank, on a stream of its own. No call waits
// for other threads; the GPUs find each other.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <rondo/communicator.hpp>

namespace {

constexpr std::size_t count = 100'000;
constexpr int rounds = 5;

/// What one thread does. True when its result is right.
bool train(const rondo::RankHandle& rank, int ranks) {
    cudaSetDevice(rank.device());
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    const auto tensor = rondo::Tensor<double>::allocate(rank.device(), count);
    bool right = true;
    for (int round = 0; round < rounds && right; ++round) {
        std::vector<double> host(count, rank.rank() + round);
        cudaMemcpyAsync(tensor.data(), host.data(), count * sizeof(double), cudaMemcpyDefault,
                        stream);
        rondo::Work work = rank.all_reduce(rondo::ReduceOp::sum, tensor.data(), tensor.data(),
                                           count, {.streams = {&stream, 1}});
        cudaMemcpyAsync(host.data(), tensor.data(), count * sizeof(double), cudaMemcpyDefault,
                        stream);  // in stream order: after the reduction
        cudaStreamSynchronize(stream);
        work.wait();  // throws if something went wrong
        right = host == std::vector<double>(count, ranks * (ranks - 1) / 2 + ranks * round);
    }
    cudaStreamDestroy(stream);
    return right;
}

}  // namespace

int main() try {
    const rondo::Communicator comm = rondo::Communicator::create();
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int r = 0; r < comm.size(); ++r) {
        threads.emplace_back([&comm, &right, r] {
            try {
                if (train(comm.rank(r), comm.size())) ++right;
            } catch (const std::exception& error) {
                std::fprintf(stderr, "rank %d: %s\n", r, error.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("%d of %d threads have the right sums\n", right.load(), comm.size());
    return right == comm.size() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "thread_per_gpu: %s\n", error.what());
    return 1;
}
