// Collectives of an MPI library, timed on request of rondo-bench. Started by mpirun, one process
// per rank: mpi_peer PAGE. Compiled once for each MPI library.
#include <mpi.h>

#include <cstdio>

#include "bench/peers/peer_loop.hpp"

namespace {

using namespace rondo::bench;

MPI_Datatype datatype_of(PeerType type) {
    switch (type) {
        case PeerType::f32:
            return MPI_FLOAT;
        case PeerType::f64:
            return MPI_DOUBLE;
        case PeerType::i8:
            return MPI_INT8_T;
        case PeerType::u8:
            return MPI_UINT8_T;
        case PeerType::i32:
            return MPI_INT32_T;
        case PeerType::u32:
            return MPI_UINT32_T;
        case PeerType::i64:
            return MPI_INT64_T;
        case PeerType::u64:
            return MPI_UINT64_T;
        case PeerType::f16:
            break;
    }
    throw std::runtime_error("MPI has no such element type");
}

MPI_Op reduction_of(PeerReduction reduction) {
    switch (reduction) {
        case PeerReduction::sum:
            return MPI_SUM;
        case PeerReduction::prod:
            return MPI_PROD;
        case PeerReduction::min:
            return MPI_MIN;
        case PeerReduction::max:
            return MPI_MAX;
    }
    throw std::runtime_error("MPI has no such operator");
}

class Mpi {
public:
    Mpi() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    }
    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    std::string version() const {
        char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
        int length = 0;
        MPI_Get_library_version(text, &length);
        std::string line(text, static_cast<std::size_t>(length));
        for (char& c : line) {
            if (c == '\t') c = ' ';
        }
        return line.substr(0, line.find_first_of(",\n"));
    }
    void barrier() const { MPI_Barrier(MPI_COMM_WORLD); }
    double slowest(double value) const {
        double result = 0;
        MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return result;
    }

    void prepare(const PeerRequest& request, void* input, void* output) {
        if (request.count > 0x7fffffff) throw std::runtime_error("more than MPI's int can count");
        request_ = request;
        type_ = datatype_of(request.type);
        operator_ = reduction_of(request.reduction);
        count_ = static_cast<int>(request.count);
        input_ = input;
        output_ = output;
    }

    void call() {
        const bool in_place = request_.in_place != 0;
        const int root = static_cast<int>(request_.root);
        const MPI_Comm all = MPI_COMM_WORLD;
        const void* const from = in_place ? MPI_IN_PLACE : input_;
        switch (request_.operation) {
            case PeerOperation::all_reduce:
                MPI_Allreduce(from, output_, count_, type_, operator_, all);
                return;
            case PeerOperation::reduce:
                MPI_Reduce(in_place && rank_ != root ? output_ : from, output_, count_, type_,
                           operator_, root, all);
                return;
            case PeerOperation::broadcast:
                MPI_Bcast(output_, count_, type_, root, all);
                return;
            case PeerOperation::reduce_scatter:
                MPI_Reduce_scatter_block(from, output_, count_, type_, operator_, all);
                return;
            case PeerOperation::all_gather:
                MPI_Allgather(from, count_, type_, output_, count_, type_, all);
                return;
            case PeerOperation::all_to_all:
                MPI_Alltoall(from, count_, type_, output_, count_, type_, all);
                return;
            case PeerOperation::gather:
                MPI_Gather(in_place && rank_ != root ? output_ : from, count_, type_, output_,
                           count_, type_, root, all);
                return;
            case PeerOperation::scatter:
                MPI_Scatter(in_place ? output_ : input_, count_, type_,
                            in_place && rank_ == root ? MPI_IN_PLACE : output_, count_, type_, root,
                            all);
                return;
            case PeerOperation::sendrecv:
                MPI_Sendrecv(input_, count_, type_, (rank_ + 1) % ranks_, 0, output_, count_, type_,
                             (rank_ + ranks_ - 1) % ranks_, 0, all, MPI_STATUS_IGNORE);
                return;
            case PeerOperation::quit:
                return;
        }
    }

private:
    int rank_ = 0, ranks_ = 1, count_ = 0;
    PeerRequest request_ = {};
    MPI_Datatype type_ = MPI_FLOAT;
    MPI_Op operator_ = MPI_SUM;
    const void* input_ = nullptr;
    void* output_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    try {
        if (argc != 2) throw std::runtime_error("usage: mpirun mpi_peer PAGE");
        Mpi mpi;
        PeerRank<Mpi>(open_page(argv[1]), mpi).serve();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mpi_peer: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
