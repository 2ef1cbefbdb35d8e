// Random sequences of calls by one thread per rank, each on streams of its own choice, mostly
// without waiting: first calls among running ones, exchanges among collectives, large among small.
// Every call has buffers of its own, which are looked at when all is over.
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <thread>

#include "tests/communicator/fixture.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo::test {
namespace {

using Values = std::vector<std::int32_t>;

Tensor<std::int32_t> tensor_with(int device, const Values& values) {
    Tensor<std::int32_t> tensor = Tensor<std::int32_t>::allocate(device, values.size());
    expect_success(cudaMemcpy(tensor.data(), values.data(), values.size() * sizeof(std::int32_t),
                              cudaMemcpyDefault));
    return tensor;
}

/// One call, the same for all ranks but for the stream.
struct RandomCall {
    enum class Kind { collective, shift, barrier };

    Kind kind = Kind::collective;
    Collective collective = Collective::all_reduce;
    Strategy strategy = {};
    bool uneven = false;
    int root = 0;
    std::size_t count = 0;
    std::vector<std::uint64_t> counts = {};  ///< of each rank's part
    std::vector<Tensor<std::int32_t>> inputs = {};
    std::vector<Tensor<std::int32_t>> outputs = {};
    std::vector<Values> expected = {};

    std::string name() const {
        if (kind == Kind::barrier) return "barrier";
        if (kind == Kind::shift) return "shift of " + std::to_string(count);
        return to_string(strategy) + " " + std::string(to_string(collective)) + " of " +
               std::to_string(count) + (uneven ? " uneven" : "") + " root " + std::to_string(root);
    }
};

class Sequence {
public:
    Sequence(int ranks, std::uint32_t seed) : ranks_(ranks), random_(seed) {}

    RandomCall make() {
        RandomCall call;
        const std::uint32_t kind = random_() % 8;
        call.kind = kind == 0   ? RandomCall::Kind::shift
                    : kind == 1 ? RandomCall::Kind::barrier
                                : RandomCall::Kind::collective;
        if (call.kind == RandomCall::Kind::barrier) return call;
        const std::uint32_t size = random_() % 12;
        call.count = size == 0 ? 60'000 : size < 6 ? random_() % 20 : random_() % 3000;
        call.root = static_cast<int>(random_() % static_cast<std::uint32_t>(ranks_));
        if (call.kind == RandomCall::Kind::collective) {
            call.collective = all_collectives[random_() % all_collectives.size()];
            call.uneven = has_owners(call.collective) &&
                          call.collective != Collective::all_to_all && random_() % 2 == 0;
            choose_strategy(call);
        }
        for (int rank = 0; rank < ranks_; ++rank) {
            call.counts.push_back(call.uneven ? random_() % (call.count + 1) : call.count);
        }
        fill(call);
        return call;
    }

private:
    void choose_strategy(RandomCall& call) {
        if (random_() % 2 == 0) return;
        const std::vector<Strategy> all = sample_strategies();
        const Strategy strategy = all[random_() % all.size()];
        const MachineView machine(2);
        const auto built =
            try_build({.machine = machine, .collective = call.collective, .strategy = strategy});
        if (built) call.strategy = strategy;
    }

    std::int32_t value(int rank, std::size_t place) const {
        return static_cast<std::int32_t>((place * 31 + static_cast<std::size_t>(rank) * 17) % 1009);
    }
    Values values(int rank, std::size_t begin, std::size_t count) const {
        Values result(count);
        for (std::size_t i = 0; i < count; ++i) result[i] = value(rank, begin + i);
        return result;
    }
    Values sums(std::size_t begin, std::size_t count) const {
        Values result(count);
        for (int rank = 0; rank < ranks_; ++rank) {
            for (std::size_t i = 0; i < count; ++i) result[i] += value(rank, begin + i);
        }
        return result;
    }

    void fill(RandomCall& call) const {
        const std::size_t whole =
            std::accumulate(call.counts.begin(), call.counts.end(), std::size_t{0});
        std::size_t begin = 0;  // of the rank's part
        for (int rank = 0; rank < ranks_; ++rank) {
            const std::size_t own = call.counts[static_cast<std::size_t>(rank)];
            std::size_t sends = call.count;
            Values expected;
            if (call.kind == RandomCall::Kind::shift) {
                expected = values((rank + ranks_ - 1) % ranks_, 0, call.count);
            } else {
                expected = result_of(call, rank, begin, own, whole, sends);
            }
            call.inputs.push_back(tensor_with(rank, values(rank, 0, sends)));
            call.outputs.push_back(tensor_with(rank, Values(expected.size(), -1)));
            call.expected.push_back(std::move(expected));
            begin += own;
        }
    }

    /// Also how long the rank's input is.
    Values result_of(const RandomCall& call, int rank, std::size_t begin, std::size_t own,
                     std::size_t whole, std::size_t& sends) const {
        const bool is_root = rank == call.root;
        switch (call.collective) {
            case Collective::all_reduce:
                return sums(0, call.count);
            case Collective::reduce:
                return is_root ? sums(0, call.count) : Values();
            case Collective::broadcast:
                return values(call.root, 0, call.count);
            case Collective::reduce_scatter:
                sends = whole;
                return sums(begin, own);
            case Collective::scatter:
                sends = is_root ? whole : 0;
                return values(call.root, begin, own);
            case Collective::all_to_all: {
                sends = whole;
                Values result;
                for (int from = 0; from < ranks_; ++from) {
                    const Values part = values(from, begin, own);
                    result.insert(result.end(), part.begin(), part.end());
                }
                return result;
            }
            default: {
                sends = own;
                Values result;
                for (int from = 0; from < ranks_; ++from) {
                    const Values part =
                        values(from, 0, call.counts[static_cast<std::size_t>(from)]);
                    result.insert(result.end(), part.begin(), part.end());
                }
                return call.collective == Collective::all_gather || is_root ? result : Values();
            }
        }
    }

    int ranks_;
    std::mt19937 random_;
};

Work enqueue(const RandomCall& call, const RankHandle& handle, int ranks,
             const CallOptions& options) {
    if (call.kind == RandomCall::Kind::barrier) return handle.barrier(options);
    const auto r = static_cast<std::size_t>(handle.rank());
    const std::int32_t* const in = call.inputs[r].data();
    std::int32_t* const out = call.outputs[r].data();
    if (call.kind == RandomCall::Kind::shift) {
        const int next = (handle.rank() + 1) % ranks;
        const int previous = (handle.rank() + ranks - 1) % ranks;
        const Transfer both[]{send_to(next, in, call.count),
                              receive_from(previous, out, call.count)};
        return handle.exchange(both, options);
    }
    const std::span<const std::uint64_t> counts(call.counts);
    switch (call.collective) {
        case Collective::all_reduce:
            return handle.all_reduce(ReduceOp::sum, in, out, call.count, options);
        case Collective::reduce:
            return handle.reduce(ReduceOp::sum, in, out, call.count, call.root, options);
        case Collective::broadcast:
            return handle.broadcast(in, out, call.count, call.root, options);
        case Collective::reduce_scatter:
            return call.uneven ? handle.reduce_scatter(ReduceOp::sum, in, out, counts, options)
                               : handle.reduce_scatter(ReduceOp::sum, in, out, call.count, options);
        case Collective::scatter:
            return handle.scatter(in, out, counts, call.root, options);
        case Collective::gather:
            return handle.gather(in, out, counts, call.root, options);
        case Collective::all_to_all:
            return handle.all_to_all(in, out, call.count, options);
        default:
            return call.uneven ? handle.all_gather(in, out, counts, options)
                               : handle.all_gather(in, out, call.count, options);
    }
}

/// Streams of one device, in its default's place.
struct Streams {
    explicit Streams(int device) {
        expect_success(cudaSetDevice(device));
        for (cudaStream_t& stream : all) {
            expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        }
    }
    ~Streams() {
        for (const cudaStream_t stream : all) static_cast<void>(cudaStreamDestroy(stream));
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    cudaStream_t all[3] = {};
};

void run_sequence(int ranks, int length, std::uint32_t seed) {
    SCOPED_TRACE("ranks " + std::to_string(ranks) + ", seed " + std::to_string(seed));
    Communicator comm = Communicator::create(options_of(ranks));
    Sequence sequence(ranks, seed);
    std::vector<RandomCall> calls;
    for (int i = 0; i < length; ++i) calls.push_back(sequence.make());
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                std::mt19937 random(seed + 100 + static_cast<std::uint32_t>(rank));
                const RankHandle handle = comm.rank(rank);
                const Streams streams(rank);
                const RandomCall* present = nullptr;
                try {
                    for (const RandomCall& call : calls) {
                        present = &call;
                        const cudaStream_t stream = streams.all[random() % 3];
                        Work work = enqueue(call, handle, ranks,
                                            {.streams = {&stream, 1}, .strategy = call.strategy});
                        if (random() % 16 == 0) work.wait();
                    }
                    handle.barrier({.streams = {&streams.all[0], 1}}).wait();
                } catch (const std::exception& error) {
                    errors[static_cast<std::size_t>(rank)] = present->name() + ": " + error.what();
                }
                static_cast<void>(cudaSetDevice(rank));
                static_cast<void>(cudaDeviceSynchronize());
            });
        }
    }
    ASSERT_EQ(errors, std::vector<std::string>(errors.size()));
    for (std::size_t i = 0; i < calls.size(); ++i) {
        for (std::size_t r = 0; r < calls[i].outputs.size(); ++r) {
            ASSERT_EQ(values_of(calls[i].outputs[r]), calls[i].expected[r])
                << "call " << i << ", rank " << r << ": " << calls[i].name();
        }
    }
}

std::uint32_t first_seed() {
    const char* const given = std::getenv("RONDO_SEQUENCE_SEED");
    return given != nullptr ? static_cast<std::uint32_t>(std::stoul(given))
                            : std::random_device()();
}

/// Prints its seed; RONDO_SEQUENCE_SEED repeats it.
TEST(Sequences, OfRandomCallsByOneThreadPerRank) {
    int present = 0;
    expect_success(cudaGetDeviceCount(&present));
    std::uint32_t seed = first_seed();
    std::cout << "seed " << seed << std::endl;
    for (const int ranks : {2, 3, 5, 8}) {
        if (ranks <= present) run_sequence(ranks, 60, seed++);
    }
}

}  // namespace
}  // namespace rondo::test
