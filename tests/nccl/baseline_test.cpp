// Rondo and NCCL on the same data: the same bits where the data is such that there is only one
// right result, and no farther apart than rounding allows where there is not.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include <cuda_runtime_api.h>

#include "rondo/communicator.hpp"
#include "tests/communicator/test_memory.hpp"
#include "tests/nccl/nccl_ranks.hpp"
#include "tests/nccl/thrust_data.hpp"

namespace rondo::test {
namespace {

constexpr std::uint64_t largest_count = 40'009;  ///< of one rank's part

constexpr std::array all_collectives{Collective::all_reduce, Collective::reduce,
                                     Collective::broadcast, Collective::reduce_scatter,
                                     Collective::all_gather};

/// Why there is nothing to compare; empty when there are GPUs.
std::string why_not() {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    cudaGetLastError();
    return status == cudaSuccess && devices > 0
               ? ""
               : std::string("no GPU: ") + cudaGetErrorString(status);
}

/// Memory of one rank: what goes in, what both libraries make of it and what is right.
struct RankMemory {
    explicit RankMemory(int device, std::size_t bytes) {
        require_success(cudaSetDevice(device));
        for (void** buffer : {&input, &rondo, &nccl, &expected}) {
            require_success(cudaMalloc(buffer, bytes));
            require_success(cudaMemset(*buffer, 0xA5, bytes));
        }
        require_success(cudaDeviceSynchronize());
    }
    ~RankMemory() {
        for (void* buffer : {input, rondo, nccl, expected}) cudaFree(buffer);
    }
    RankMemory(const RankMemory&) = delete;
    RankMemory& operator=(const RankMemory&) = delete;

    void* input = nullptr;
    void* rondo = nullptr;
    void* nccl = nullptr;
    void* expected = nullptr;
};

/// A call of both libraries, and what it is made of.
struct Comparison {
    Collective collective = Collective::all_reduce;
    DataRule rule;
    std::uint64_t count = 0;  ///< of one rank's part for reduce_scatter and all_gather
    std::uint32_t root = 0;

    std::uint32_t ranks() const { return rule.exact.ranks; }
    ElementType type() const { return rule.exact.type; }
    std::uint64_t total() const { return count * ranks(); }

    Range input(std::uint32_t rank) const {
        switch (collective) {
            case Collective::all_gather:
                return {rank * count, count};
            case Collective::reduce_scatter:
                return {0, total()};
            case Collective::broadcast:
                return {0, rank == root ? count : 0};
            default:
                return {0, count};
        }
    }
    Range output(std::uint32_t rank) const {
        switch (collective) {
            case Collective::all_gather:
                return {0, total()};
            case Collective::reduce_scatter:
                return {rank * count, count};
            case Collective::reduce:
                return {0, rank == root ? count : 0};
            default:
                return {0, count};
        }
    }
    /// NCCL makes the mean of floats a sum of products with 1/n, which is exact for powers of two
    /// only.
    bool nccl_is_exact() const {
        return rule.kind == DataRule::Kind::exact &&
               !(rule.exact.op == ReduceOp::mean && DataRule::is_float(type()) &&
                 (ranks() & (ranks() - 1)) != 0);
    }
    std::string name() const {
        return std::string(to_string(collective)) + " " + std::string(to_string(type())) + " " +
               std::string(to_string(rule.exact.op)) + ", " + std::to_string(ranks()) +
               " ranks, count " + std::to_string(count) +
               (rule.kind == DataRule::Kind::exact ? ", exact data" : ", random data");
    }
};

class Baseline {
public:
    explicit Baseline(int ranks) : nccl_(ranks) {
        CommunicatorOptions options{.timeout = std::chrono::seconds(60)};
        for (int rank = 0; rank < ranks; ++rank) options.devices.push_back(rank);
        rondo_.emplace(Communicator::create(options));
        const std::size_t bytes = largest_count * 8 * static_cast<std::size_t>(ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            memory_.push_back(std::make_unique<RankMemory>(rank, bytes));
        }
    }

    /// What is wrong, or nothing.
    std::string run(const Comparison& wanted) {
        for_each_rank(wanted, [&](std::uint32_t rank, RankMemory& memory) {
            make_values(wanted.rule, rank, memory.input, wanted.input(rank));
            make_expected(wanted, rank, memory.expected);
            return std::string();
        });
        run_rondo(wanted);
        run_nccl(wanted);
        return for_each_rank(wanted, [&](std::uint32_t rank, RankMemory& memory) {
            return check(wanted, rank, memory);
        });
    }

    /// What every rank sent to the next one.
    std::string run_shift(const DataRule& rule, std::uint64_t count) {
        const Comparison wanted{Collective::broadcast, rule, count};
        for_each_rank(wanted, [&](std::uint32_t rank, RankMemory& memory) {
            make_values(rule, rank, memory.input, {0, count});
            const std::uint32_t before = (rank + wanted.ranks() - 1) % wanted.ranks();
            make_values(rule, before, memory.expected, {0, count});
            return std::string();
        });
        shift_rondo(wanted);
        nccl_.shift(wanted.type(), count, inputs(), outputs());
        return for_each_rank(wanted, [&](std::uint32_t rank, RankMemory& memory) {
            return check(wanted, rank, memory);
        });
    }

private:
    template <class Body>
    std::string for_each_rank(const Comparison& wanted, Body body) {
        for (std::uint32_t rank = 0; rank < wanted.ranks(); ++rank) {
            require_success(cudaSetDevice(static_cast<int>(rank)));
            const std::string wrong = body(rank, *memory_[rank]);
            if (!wrong.empty())
                return wanted.name() + ", rank " + std::to_string(rank) + ": " + wrong;
        }
        return {};
    }

    std::vector<void*> inputs() const {
        std::vector<void*> list;
        for (const auto& memory : memory_) list.push_back(memory->input);
        return list;
    }
    std::vector<void*> outputs() const {
        std::vector<void*> list;
        for (const auto& memory : memory_) list.push_back(memory->nccl);
        return list;
    }

    static void make_expected(const Comparison& wanted, std::uint32_t rank, void* expected) {
        if (reduces(wanted.collective)) {
            if (wanted.rule.kind == DataRule::Kind::exact) {
                make_results(wanted.rule, expected, wanted.output(rank));
            }
        } else if (wanted.collective == Collective::broadcast) {
            make_values(wanted.rule, wanted.root, expected, wanted.output(rank));
        } else {
            const std::size_t part = wanted.count * size_of(wanted.type());
            for (std::uint32_t owner = 0; owner < wanted.ranks(); ++owner) {
                make_values(wanted.rule, owner, static_cast<std::byte*>(expected) + owner * part,
                            wanted.input(owner));
            }
        }
    }

    void run_rondo(const Comparison& wanted) {
        std::vector<Work> works;
        for (std::uint32_t rank = 0; rank < wanted.ranks(); ++rank) {
            const RankHandle handle = rondo_->rank(static_cast<int>(rank));
            const double factor = ExactRule::factor(rank);
            CallOptions options;
            if (wanted.rule.exact.op == ReduceOp::premul_sum && reduces(wanted.collective)) {
                options.factors = {&factor, 1};
            }
            works.push_back(with_element(wanted.type(), [&]<class T>() {
                return call_rondo<T>(handle, wanted, *memory_[rank], options);
            }));
        }
        for (Work& work : works) work.wait();
    }

    template <class T>
    static Work call_rondo(const RankHandle& handle, const Comparison& wanted,
                           const RankMemory& memory, const CallOptions& options) {
        const auto* const input = static_cast<const T*>(memory.input);
        auto* const output = static_cast<T*>(memory.rondo);
        const ReduceOp op = wanted.rule.exact.op;
        const int root = static_cast<int>(wanted.root);
        switch (wanted.collective) {
            case Collective::all_reduce:
                return handle.all_reduce(op, input, output, wanted.count, options);
            case Collective::reduce:
                return handle.reduce(op, input, output, wanted.count, root, options);
            case Collective::broadcast:
                return handle.broadcast(input, output, wanted.count, root, options);
            case Collective::reduce_scatter:
                return handle.reduce_scatter(op, input, output, wanted.count, options);
            default:
                return handle.all_gather(input, output, wanted.count, options);
        }
    }

    void shift_rondo(const Comparison& wanted) {
        // Around the circle: only the first rank sends before it receives, so one stream per rank
        // is enough.
        std::vector<Work> works;
        const auto ranks = static_cast<int>(wanted.ranks());
        for (int sender = 0; sender < ranks && ranks > 1; ++sender) {
            const int receiver = (sender + 1) % ranks;
            const RankMemory& from = *memory_[static_cast<std::size_t>(sender)];
            const RankMemory& to = *memory_[static_cast<std::size_t>(receiver)];
            with_element(wanted.type(), [&]<class T>() {
                works.push_back(rondo_->rank(sender).send(static_cast<const T*>(from.input),
                                                          wanted.count, receiver));
                works.push_back(rondo_->rank(receiver).receive(static_cast<T*>(to.rondo),
                                                               wanted.count, sender));
            });
        }
        for (Work& work : works) work.wait();
    }

    void run_nccl(const Comparison& wanted) {
        std::vector<double> factors;
        for (std::uint32_t rank = 0; rank < wanted.ranks(); ++rank) {
            factors.push_back(ExactRule::factor(rank));
        }
        nccl_.run({.collective = wanted.collective,
                   .type = wanted.type(),
                   .op = wanted.rule.exact.op,
                   .count = wanted.count,
                   .root = static_cast<int>(wanted.root),
                   .factors = factors},
                  inputs(), outputs());
    }

    static std::string check(const Comparison& wanted, std::uint32_t rank,
                             const RankMemory& memory) {
        const Range range = wanted.output(rank);
        const auto describe = [&](std::uint64_t at, const char* what) {
            return at == range.count ? "" : "element " + std::to_string(at) + what;
        };
        const bool known = !reduces(wanted.collective) || wanted.rule.kind == DataRule::Kind::exact;
        if (!known) {
            return describe(first_outside_bound(wanted.rule, memory.rondo, memory.nccl, range),
                            ": Rondo and NCCL are farther apart than roundings explain");
        }
        std::string wrong =
            describe(first_difference(wanted.type(), memory.rondo, memory.expected, range.count),
                     ": Rondo's is not the exact result");
        if (!wrong.empty()) return wrong;
        if (reduces(wanted.collective) && !wanted.nccl_is_exact()) {
            return describe(first_outside_bound(wanted.rule, memory.nccl, memory.expected, range),
                            ": NCCL's is farther from the exact result than roundings explain");
        }
        return describe(first_difference(wanted.type(), memory.nccl, memory.expected, range.count),
                        ": NCCL's is not the exact result");
    }

    std::optional<Communicator> rondo_;
    NcclRanks nccl_;
    std::vector<std::unique_ptr<RankMemory>> memory_;
};

class NcclBaseline : public testing::TestWithParam<ElementType> {
protected:
    void SetUp() override {
        if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << reason;
        require_success(cudaGetDeviceCount(&devices_));
    }

    /// body(baseline) for every number of ranks. NCCL has no 8-bit floats on older GPUs.
    template <class Body>
    void for_all_ranks(Body body) {
        const bool small = GetParam() == ElementType::f8e4m3 || GetParam() == ElementType::f8e5m2;
        for (int ranks = 1; ranks <= devices_; ++ranks) {
            try {
                Baseline baseline(ranks);
                body(baseline, static_cast<std::uint32_t>(ranks));
            } catch (const NcclError& error) {
                if (!small || error.result() != ncclInvalidArgument) throw;
                GTEST_SKIP() << "NCCL refuses this type here: " << error.what();
            }
        }
    }

    int devices_ = 0;
};

/// Operators, or one of them for collectives that only copy.
std::span<const ReduceOp> operators_of(Collective collective) {
    return std::span(all_reduce_ops).first(reduces(collective) ? all_reduce_ops.size() : 1);
}

TEST_P(NcclBaseline, SameBitsOnExactData) {
    for_all_ranks([](Baseline& baseline, std::uint32_t ranks) {
        for (const Collective collective : all_collectives) {
            for (const ReduceOp op : operators_of(collective)) {
                for (const std::uint64_t count :
                     {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1021}, largest_count}) {
                    EXPECT_EQ(baseline.run({.collective = collective,
                                            .rule = {.exact = {GetParam(), op, ranks}},
                                            .count = count,
                                            .root = ranks / 2}),
                              "");
                }
            }
        }
    });
}

/// Integers do not round: exact data says it all about them.
using NcclBaselineOfFloats = NcclBaseline;

TEST_P(NcclBaselineOfFloats, WithinTheBoundOnRandomData) {
    for_all_ranks([](Baseline& baseline, std::uint32_t ranks) {
        for (const Collective collective : all_collectives) {
            for (const ReduceOp op : operators_of(collective)) {
                const DataRule rule{DataRule::Kind::random, {GetParam(), op, ranks}, 20 + ranks};
                if (!rule.has_bound()) continue;
                EXPECT_EQ(baseline.run({.collective = collective,
                                        .rule = rule,
                                        .count = largest_count,
                                        .root = ranks - 1}),
                          "");
            }
        }
    });
}

TEST_P(NcclBaseline, SendAndReceive) {
    for_all_ranks([](Baseline& baseline, std::uint32_t ranks) {
        if (ranks == 1) return;  // nobody else is there
        EXPECT_EQ(baseline.run_shift({.exact = {GetParam(), ReduceOp::sum, ranks}}, 1021), "");
    });
}

std::string name_of(const testing::TestParamInfo<ElementType>& parameter) {
    return std::string(to_string(parameter.param));
}

INSTANTIATE_TEST_SUITE_P(Types, NcclBaseline, testing::ValuesIn(all_element_types), name_of);
INSTANTIATE_TEST_SUITE_P(Types, NcclBaselineOfFloats,
                         testing::Values(ElementType::f16, ElementType::bf16, ElementType::f32,
                                         ElementType::f64, ElementType::f8e4m3,
                                         ElementType::f8e5m2),
                         name_of);

}  // namespace
}  // namespace rondo::test
