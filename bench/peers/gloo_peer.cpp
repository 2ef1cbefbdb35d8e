// Collectives of Gloo over its TCP transport, timed on request of rondo-bench.
// gloo_peer PAGE FOLDER: starts one process per rank; the folder is for their rendezvous.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "bench/peers/peer_loop.hpp"

namespace {

using namespace rondo::bench;

class Gloo {
public:
    Gloo(int rank, int ranks, const std::string& folder)
        : context_(std::make_shared<gloo::rendezvous::Context>(rank, ranks)) {
        gloo::transport::tcp::attr attributes;
        attributes.hostname = "127.0.0.1";
        gloo::rendezvous::FileStore store(folder);
        auto device = gloo::transport::tcp::CreateDevice(attributes);
        context_->connectFullMesh(store, device);
    }

    int rank() const { return context_->rank; }
    int ranks() const { return context_->size; }
    std::string version() const { return "Gloo, TCP transport"; }
    void barrier() {
        gloo::BarrierOptions options(context_);
        gloo::barrier(options);
    }
    double slowest(double value) {
        gloo::AllreduceOptions options(context_);
        options.setOutput(&value, 1);
        options.setReduceFunction(reduction_of<double>(PeerReduction::max));
        gloo::allreduce(options);
        return value;
    }

    void prepare(const PeerRequest& request, void* input, void* output) {
        switch (request.type) {
            case PeerType::f32:
                return prepare_typed<float>(request, input, output);
            case PeerType::f64:
                return prepare_typed<double>(request, input, output);
            case PeerType::i32:
                return prepare_typed<std::int32_t>(request, input, output);
            case PeerType::i64:
                return prepare_typed<std::int64_t>(request, input, output);
            case PeerType::u64:
                return prepare_typed<std::uint64_t>(request, input, output);
            case PeerType::i8:
                return prepare_typed<std::int8_t>(request, input, output);
            case PeerType::u8:
                return prepare_typed<std::uint8_t>(request, input, output);
            default:
                throw std::runtime_error("Gloo has no such element type");
        }
    }
    void call() { call_(); }

private:
    template <class T>
    static gloo::AllreduceOptions::Func reduction_of(PeerReduction reduction) {
        using Function = void (*)(void*, const void*, const void*, std::size_t);
        switch (reduction) {
            case PeerReduction::sum:
                return static_cast<Function>(&gloo::sum<T>);
            case PeerReduction::prod:
                return static_cast<Function>(&gloo::product<T>);
            case PeerReduction::min:
                return static_cast<Function>(&gloo::min<T>);
            case PeerReduction::max:
                return static_cast<Function>(&gloo::max<T>);
        }
        throw std::runtime_error("Gloo has no such operator");
    }

    template <class T>
    void prepare_typed(const PeerRequest& request, void* input, void* output) {
        T* const from = static_cast<T*>(input);
        T* const to = static_cast<T*>(output);
        const bool in_place = request.in_place != 0;
        const std::size_t count = request.count, all = count * static_cast<std::size_t>(ranks());
        const int root = static_cast<int>(request.root);
        switch (request.operation) {
            case PeerOperation::all_reduce:
                call_ = [=, this] {
                    gloo::AllreduceOptions options(context_);
                    if (!in_place) options.setInput(from, count);
                    options.setOutput(to, count);
                    options.setReduceFunction(reduction_of<T>(request.reduction));
                    gloo::allreduce(options);
                };
                return;
            case PeerOperation::reduce:
                call_ = [=, this] {
                    gloo::ReduceOptions options(context_);
                    if (!in_place) options.setInput(from, count);
                    options.setOutput(to, count);
                    options.setRoot(root);
                    options.setReduceFunction(reduction_of<T>(request.reduction));
                    gloo::reduce(options);
                };
                return;
            case PeerOperation::broadcast:
                call_ = [=, this] {
                    gloo::BroadcastOptions options(context_);
                    if (!in_place && rank() == root) options.setInput(from, count);
                    options.setOutput(to, count);
                    options.setRoot(root);
                    gloo::broadcast(options);
                };
                return;
            case PeerOperation::all_gather:
                call_ = [=, this] {
                    gloo::AllgatherOptions options(context_);
                    if (!in_place) options.setInput(from, count);
                    options.setOutput(to, all);
                    gloo::allgather(options);
                };
                return;
            case PeerOperation::all_to_all:
                call_ = [=, this] {
                    gloo::AlltoallOptions options(context_);
                    options.setInput(from, all);
                    options.setOutput(to, all);
                    gloo::alltoall(options);
                };
                return;
            case PeerOperation::gather:
                if (in_place) throw std::runtime_error("Gloo has no gather in place");
                call_ = [=, this] {
                    gloo::GatherOptions options(context_);
                    options.setInput(from, count);
                    if (rank() == root) options.setOutput(to, all);
                    options.setRoot(root);
                    gloo::gather(options);
                };
                return;
            case PeerOperation::scatter:
                if (in_place) throw std::runtime_error("Gloo has no scatter in place");
                call_ = [=, this] {
                    gloo::ScatterOptions options(context_);
                    if (rank() == root) {
                        std::vector<T*> parts;
                        for (int r = 0; r < ranks(); ++r) parts.push_back(from + r * count);
                        options.setInputs(parts, count);
                    }
                    options.setOutput(to, count);
                    options.setRoot(root);
                    gloo::scatter(options);
                };
                return;
            default:
                throw std::runtime_error("Gloo has no such collective");
        }
    }

    std::shared_ptr<gloo::rendezvous::Context> context_;
    std::function<void()> call_;
};

int run_rank(PeerPage& page, int rank, const char* folder) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        Gloo gloo(rank, static_cast<int>(page.ranks), folder);
        PeerRank<Gloo>(page, gloo).serve();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gloo_peer, rank %d: %s\n", rank, error.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: gloo_peer PAGE FOLDER\n");
        return 2;
    }
    try {
        PeerPage& page = open_page(argv[1]);
        for (std::uint32_t rank = 0; rank < page.ranks; ++rank) {
            if (fork() == 0) _exit(run_rank(page, static_cast<int>(rank), argv[2]));
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gloo_peer: %s\n", error.what());
        return 1;
    }
    // The first that fails ends all: they die with this process.
    int status = 0;
    while (wait(&status) > 0) {
        if (status != 0) return 1;
    }
    return 0;
}
