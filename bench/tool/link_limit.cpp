// The limit of a collective of real GPUs.
#include "bench/tool/link_limit.hpp"

#include <algorithm>
#include <chrono>

#include "bench/tool/cuda_check.hpp"
#include "topology/forest/exchange_bound.hpp"
#include "topology/forest/forest.hpp"

namespace rondo::bench {
namespace {

double forest_throughput(const Topology& topology, ForestRequest request,
                         ForestCollective collective) {
    request.collective = collective;
    const Bound bound = forest_bound(topology, request);
    return bound.unlimited ? 0 : bound.throughput.convert_to<double>();
}

double exchange_throughput(const Topology& topology, const ForestRequest& request,
                           ExchangeKind kind) {
    const ExchangeBound bound = exchange_bound(topology, request, kind);
    return bound.unlimited ? 0 : bound.throughput.convert_to<double>();
}

double throughput_of(const Topology& topology, const ForestRequest& request, Operation operation) {
    switch (operation) {
        case Operation::all_reduce:
        case Operation::batch_reduce:
            return forest_throughput(topology, request, ForestCollective::all_reduce);
        case Operation::reduce:
            return forest_throughput(topology, request, ForestCollective::reduce);
        case Operation::broadcast:
            return forest_throughput(topology, request, ForestCollective::broadcast);
        case Operation::reduce_scatter:
            return forest_throughput(topology, request, ForestCollective::reduce_scatter);
        case Operation::all_gather:
            return forest_throughput(topology, request, ForestCollective::all_gather);
        case Operation::all_to_all:
            return exchange_throughput(topology, request, ExchangeKind::all_to_all);
        case Operation::gather:
            return exchange_throughput(topology, request, ExchangeKind::gather);
        case Operation::scatter:
            return exchange_throughput(topology, request, ExchangeKind::scatter);
        case Operation::sendrecv:
            break;
    }
    return 0;
}

}  // namespace

LinkCopies::~LinkCopies() {
    release();
}

void LinkCopies::release() noexcept {
    for (const Lane& lane : lanes_) cudaStreamDestroy(lane.stream);
    lanes_.clear();
}

void LinkCopies::begin(const Case& test) {
    release();
    for (const LinkTransfer& transfer :
         least_transfers(test.operation, test.ranks, test.root, test.shape.bytes)) {
        check(cudaSetDevice(buffers_.device(transfer.from)), "cudaSetDevice");
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
        lanes_.push_back({transfer, stream});
    }
    if (lanes_.empty()) throw Unsupported("nothing crosses a link");
}

void LinkCopies::copy_all() const {
    for (const auto& [transfer, stream] : lanes_) {
        check(cudaMemcpyPeerAsync(buffers_.receive(transfer.to), buffers_.device(transfer.to),
                                  buffers_.send(transfer.from), buffers_.device(transfer.from),
                                  transfer.bytes, stream),
              "cudaMemcpyPeerAsync");
    }
}

double LinkCopies::run(int warm_up, int iterations) {
    const auto wait = [&] {
        for (const Lane& lane : lanes_) {
            check(cudaStreamSynchronize(lane.stream), "cudaStreamSynchronize");
        }
    };
    for (int i = 0; i < warm_up; ++i) copy_all();
    wait();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; ++i) copy_all();
    wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / std::max(iterations, 1);
}

double bound_of(const Topology& topology, const Case& test) {
    ForestRequest request{.root = test.root};
    for (int rank = 0; rank < test.ranks; ++rank) request.gpus.push_back(rank);
    try {
        return throughput_of(topology, request, test.operation);
    } catch (const Error&) {
        return 0;
    }
}

}  // namespace rondo::bench
