// Prepares, runs and checks one call.
#include "tests/communicator/collective_case.hpp"

#include <cstring>
#include <numeric>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "tests/communicator/call_together.hpp"
#include "tests/communicator/exact_data.hpp"
#include "tests/communicator/with_element.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo::test {
namespace {

constexpr std::size_t guard = 64;  ///< bytes on both sides that nobody may touch
constexpr std::byte untouched{0xA5};

constexpr std::uint64_t period = 4099;  ///< after which the contents repeat

/// The elements of places 0 to period - 1, as value_at(place) says.
template <class ValueAt>
std::vector<std::byte> make_period(ElementType type, std::uint64_t places, ValueAt value_at) {
    std::vector<std::byte> bytes;
    for (std::uint64_t place = 0; place < std::min(places, period); ++place) {
        const std::vector<std::byte> bits = element_from(type, value_at(place));
        bytes.insert(bytes.end(), bits.begin(), bits.end());
    }
    return bytes;
}

/// Elements [begin, begin + count) of the whole message.
struct Part {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
};

Part own_part(const CollectiveCase& wanted, std::uint32_t rank) {
    const auto begin =
        std::accumulate(wanted.counts.begin(), wanted.counts.begin() + rank, std::uint64_t{0});
    return {begin, wanted.counts[rank]};
}

/// all_to_all: elements from one rank to another.
std::uint64_t pair_count(const CollectiveCase& wanted, std::uint32_t from, std::uint32_t to) {
    if (!wanted.uneven) return wanted.count;
    return (from + 2 * to) % 4 == 1 ? 0 : wanted.count / (1 + (from + to) % 3) + from % 2;
}

/// all_to_all: what a rank sends each, or receives from each.
std::vector<std::uint64_t> pair_counts(const CollectiveCase& wanted, std::uint32_t rank,
                                       bool sends) {
    std::vector<std::uint64_t> counts;
    for (std::uint32_t peer = 0; peer < wanted.counts.size(); ++peer) {
        counts.push_back(sends ? pair_count(wanted, rank, peer) : pair_count(wanted, peer, rank));
    }
    return counts;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Elements of the whole message; of an all_to_all at least what any rank sends or receives.
std::uint64_t total(const CollectiveCase& wanted) {
    if (wanted.collective == Collective::all_to_all) {
        return (wanted.count + 1) * wanted.counts.size();
    }
    return has_owners(wanted.collective) ? sum_of(wanted.counts) : wanted.count;
}

Part input_part(const CollectiveCase& wanted, std::uint32_t rank) {
    switch (wanted.collective) {
        case Collective::all_gather:
        case Collective::gather:
            return own_part(wanted, rank);
        case Collective::reduce_scatter:
            return {0, total(wanted)};
        case Collective::broadcast:
        case Collective::scatter:
            return {0, rank == wanted.root ? total(wanted) : 0};
        case Collective::all_to_all:
            return {0, sum_of(pair_counts(wanted, rank, true))};
        default:
            return {0, wanted.count};
    }
}

Part output_part(const CollectiveCase& wanted, std::uint32_t rank) {
    switch (wanted.collective) {
        case Collective::all_gather:
            return {0, total(wanted)};
        case Collective::reduce_scatter:
        case Collective::scatter:
            return own_part(wanted, rank);
        case Collective::reduce:
        case Collective::gather:
            return {0, rank == wanted.root ? total(wanted) : 0};
        case Collective::all_to_all:
            return {0, sum_of(pair_counts(wanted, rank, false))};
        default:
            return {0, wanted.count};
    }
}

}  // namespace

std::string CollectiveCase::name() const {
    return fmt::format("{} {} {} {} count {} root {}{}{}{} offset {}", to_string(strategy),
                       to_string(collective), to_string(type), to_string(op), count, root,
                       in_place ? " in place" : "", uneven ? " uneven" : "",
                       together ? " together" : "", offset);
}

struct CaseRunner::Buffers {
    explicit Buffers(MemorySource source) : memory(source) {}

    TestMemory memory;
    std::vector<std::byte*> inputs, outputs;
    std::vector<std::byte*> snapshots;  ///< of the outputs, as each rank's stream finds them
    std::vector<std::size_t> bytes;
    std::vector<std::vector<std::byte>> expected;  ///< of each rank's output with its guards

    void reserve(const Communicator& communicator, std::size_t wanted) {
        const auto ranks = static_cast<std::size_t>(communicator.size());
        inputs.resize(ranks);
        outputs.resize(ranks);
        snapshots.resize(ranks);
        bytes.resize(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            if (bytes[rank] >= wanted) continue;
            const int device = communicator.device(static_cast<int>(rank));
            for (std::byte** buffer : {&inputs[rank], &outputs[rank], &snapshots[rank]}) {
                require_success(cudaFree(*buffer));
                *buffer = buffer == &snapshots[rank]
                              ? TestMemory(MemorySource::device).allocate(device, wanted)
                              : memory.allocate(device, wanted);
            }
            bytes[rank] = wanted;
        }
    }
    CallMemory of(const CollectiveCase& wanted, std::uint32_t rank) const;

    ~Buffers() {
        for (std::byte* buffer : inputs) cudaFree(buffer);
        for (std::byte* buffer : outputs) cudaFree(buffer);
        for (std::byte* buffer : snapshots) cudaFree(buffer);
    }
};

CaseRunner::CaseRunner(Communicator communicator, MemorySource source)
    : communicator_(std::move(communicator)), buffers_(std::make_unique<Buffers>(source)) {}

CaseRunner::~CaseRunner() = default;

void CaseRunner::prepare(CollectiveCase& wanted) {
    const auto ranks = static_cast<std::uint32_t>(communicator_.size());
    wanted.counts.assign(ranks, wanted.count);
    // The others are either not in place, or at the root only.
    wanted.in_place = wanted.in_place && (!has_owners(wanted.collective) ||
                                          wanted.collective == Collective::all_gather ||
                                          wanted.collective == Collective::reduce_scatter);
    if (wanted.uneven) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            wanted.counts[rank] = rank % 3 == 1 ? 0 : wanted.count / (rank + 1) + rank;
        }
    }
    const std::size_t element = size_of(wanted.type);
    const std::uint64_t places = total(wanted);
    const std::size_t bytes = places * element + wanted.offset + 2 * guard;
    buffers_->reserve(communicator_, bytes);
    buffers_->expected.assign(ranks, {});
    std::vector<std::vector<std::byte>> contributions;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        contributions.push_back(make_period(wanted.type, places, [&](std::uint64_t place) {
            return exact_value(wanted.type, wanted.op, ranks, rank, place);
        }));
    }
    const std::vector<std::byte> results = make_period(
        wanted.type, places,
        [&](std::uint64_t place) { return exact_result(wanted.type, wanted.op, ranks, place); });
    const auto repeat = [&](const std::vector<std::byte>& from, Part part) {
        std::vector<std::byte> elements(part.count * element);
        for (std::uint64_t i = 0; i < part.count; ++i) {
            std::memcpy(elements.data() + i * element,
                        from.data() + (part.begin + i) % period * element, element);
        }
        return elements;
    };
    const auto elements_of = [&](std::uint32_t rank, Part part) {
        return repeat(contributions[rank], part);
    };
    const auto reduced = [&](Part part) { return repeat(results, part); };
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const Part input = input_part(wanted, rank);
        const Part output = output_part(wanted, rank);
        const std::vector<std::byte> data = elements_of(rank, input);
        require_success(cudaSetDevice(communicator_.device(static_cast<int>(rank))));
        require_success(cudaMemset(buffers_->inputs[rank], static_cast<int>(untouched), bytes));
        require_success(cudaMemset(buffers_->outputs[rank], static_cast<int>(untouched), bytes));
        // In place the message lies in the outputs, each part where it belongs.
        std::byte* const target =
            wanted.in_place ? buffers_->outputs[rank] : buffers_->inputs[rank];
        const std::uint64_t shift = wanted.in_place ? input.begin : 0;
        require_success(cudaMemcpy(target + guard + wanted.offset + shift * element, data.data(),
                                   data.size(), cudaMemcpyDefault));
        std::vector<std::byte>& expected = buffers_->expected[rank];
        expected.resize(bytes);
        require_success(
            cudaMemcpy(expected.data(), buffers_->outputs[rank], bytes, cudaMemcpyDefault));
        const std::uint64_t output_shift =
            wanted.in_place && wanted.collective == Collective::reduce_scatter ? output.begin : 0;
        std::vector<std::byte> result;
        if (reduces(wanted.collective)) {
            result = reduced(output);
        } else if (wanted.collective == Collective::broadcast ||
                   wanted.collective == Collective::scatter) {
            result = elements_of(wanted.root, output);
        } else if (wanted.collective == Collective::all_to_all) {
            for (std::uint32_t from = 0; from < ranks; ++from) {
                const std::vector<std::uint64_t> sent = pair_counts(wanted, from, true);
                const auto begin =
                    std::accumulate(sent.begin(), sent.begin() + rank, std::uint64_t{0});
                const std::vector<std::byte> part = elements_of(from, {begin, sent[rank]});
                result.insert(result.end(), part.begin(), part.end());
            }
        } else if (output.count != 0) {
            for (std::uint32_t owner = 0; owner < ranks; ++owner) {
                const std::vector<std::byte> part = elements_of(owner, own_part(wanted, owner));
                result.insert(result.end(), part.begin(), part.end());
            }
        }
        std::copy(result.begin(), result.end(),
                  expected.begin() +
                      static_cast<std::ptrdiff_t>(guard + wanted.offset + output_shift * element));
    }
}

bool applies(const Strategy& strategy, Collective collective) {
    const MachineView machine(2);
    return try_build({.machine = machine, .collective = collective, .strategy = strategy})
        .has_value();
}

CallMemory CaseRunner::Buffers::of(const CollectiveCase& wanted, std::uint32_t rank) const {
    CallMemory result{.input = (wanted.in_place ? outputs : inputs)[rank] + guard + wanted.offset,
                      .output = outputs[rank] + guard + wanted.offset,
                      .input_count = input_part(wanted, rank).count,
                      .output_count = output_part(wanted, rank).count};
    if (wanted.in_place) {
        const std::uint64_t own = own_part(wanted, rank).begin * size_of(wanted.type);
        if (wanted.collective == Collective::all_gather) result.input += own;
        if (wanted.collective == Collective::reduce_scatter) result.output += own;
    }
    return result;
}

Work CaseRunner::enqueue_together(const CollectiveCase& wanted) {
    const auto ranks = static_cast<std::uint32_t>(communicator_.size());
    CallTogether call{
        .collective = wanted.collective, .type = wanted.type, .op = wanted.op, .root = wanted.root};
    std::vector<CallMemory> memory;
    std::vector<double> factors;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        memory.push_back(buffers_->of(wanted, rank));
        factors.push_back(exact_factor(rank));
        if (!wanted.uneven || wanted.collective != Collective::all_to_all) continue;
        for (const std::uint64_t count : pair_counts(wanted, rank, true)) {
            call.pair_counts.push_back(count);
        }
    }
    CallOptions options{.strategy = wanted.strategy, .schedule = wanted.schedule};
    if (wanted.op == ReduceOp::premul_sum && reduces(wanted.collective)) options.factors = factors;
    return call_together(communicator_, call, memory, options);
}

std::vector<Work> CaseRunner::enqueue(const CollectiveCase& wanted) {
    std::vector<Work> works;
    if (wanted.together) {
        works.push_back(enqueue_together(wanted));
        return works;
    }
    const auto ranks = static_cast<std::uint32_t>(communicator_.size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto [input, output, input_count, output_count] = buffers_->of(wanted, rank);
        const double factor = exact_factor(rank);
        CallOptions options{.strategy = wanted.strategy, .schedule = wanted.schedule};
        if (wanted.op == ReduceOp::premul_sum && reduces(wanted.collective)) {
            options.factors = {&factor, 1};
        }
        const RankHandle handle = communicator_.rank(static_cast<int>(rank));
        works.push_back(with_element(wanted.type, [&]<class T>() {
            const auto* in = reinterpret_cast<const T*>(input);
            auto* out = reinterpret_cast<T*>(output);
            const int root = static_cast<int>(wanted.root);
            switch (wanted.collective) {
                case Collective::all_reduce:
                    return handle.all_reduce(wanted.op, in, out, wanted.count, options);
                case Collective::reduce:
                    return handle.reduce(wanted.op, in, out, wanted.count, root, options);
                case Collective::broadcast:
                    return handle.broadcast(in, out, wanted.count, root, options);
                case Collective::reduce_scatter:
                    return wanted.uneven
                               ? handle.reduce_scatter(wanted.op, in, out, std::span(wanted.counts),
                                                       options)
                               : handle.reduce_scatter(wanted.op, in, out, wanted.count, options);
                case Collective::all_to_all:
                    return wanted.uneven
                               ? handle.all_to_all(in, out, pair_counts(wanted, rank, true),
                                                   pair_counts(wanted, rank, false), options)
                               : handle.all_to_all(in, out, wanted.count, options);
                case Collective::gather:
                    return wanted.uneven
                               ? handle.gather(in, out, std::span(wanted.counts), root, options)
                               : handle.gather(in, out, wanted.count, root, options);
                case Collective::scatter:
                    return wanted.uneven
                               ? handle.scatter(in, out, std::span(wanted.counts), root, options)
                               : handle.scatter(in, out, wanted.count, root, options);
                default:
                    return wanted.uneven
                               ? handle.all_gather(in, out, std::span(wanted.counts), options)
                               : handle.all_gather(in, out, wanted.count, options);
            }
        }));
    }
    return works;
}

/// What stands behind a rank's call in its stream finds the result, however far other ranks are.
void CaseRunner::take_snapshots() {
    for (std::size_t rank = 0; rank < buffers_->expected.size(); ++rank) {
        require_success(cudaSetDevice(communicator_.device(static_cast<int>(rank))));
        require_success(cudaMemcpyAsync(buffers_->snapshots[rank], buffers_->outputs[rank],
                                        buffers_->expected[rank].size(), cudaMemcpyDefault,
                                        cudaStreamLegacy));
    }
}

std::string CaseRunner::check(const CollectiveCase& wanted) {
    const std::size_t element = size_of(wanted.type);
    for (std::size_t rank = 0; rank < buffers_->expected.size(); ++rank) {
        const std::vector<std::byte>& expected = buffers_->expected[rank];
        std::vector<std::byte> found(expected.size());
        require_success(cudaSetDevice(communicator_.device(static_cast<int>(rank))));
        require_success(
            cudaMemcpy(found.data(), buffers_->snapshots[rank], found.size(), cudaMemcpyDefault));
        // reduce_scatter in place leaves the other parts of the message undefined.
        if (wanted.in_place && wanted.collective == Collective::reduce_scatter) {
            const Part own = own_part(wanted, static_cast<std::uint32_t>(rank));
            const std::size_t begin = guard + wanted.offset;
            for (std::uint64_t i = 0; i < total(wanted); ++i) {
                if (i < own.begin || i >= own.begin + own.count) {
                    std::memcpy(found.data() + begin + i * element,
                                expected.data() + begin + i * element, element);
                }
            }
        }
        if (found == expected) continue;
        std::size_t at = 0;
        while (found[at] == expected[at]) ++at;
        const auto offset =
            static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(guard + wanted.offset);
        return fmt::format("{}: rank {} of {}: byte {} (element {}) is {:#04x} instead of {:#04x}",
                           wanted.name(), rank,
                           expected.size() == 0 ? 0 : buffers_->expected.size(), offset,
                           offset / static_cast<std::ptrdiff_t>(element),
                           static_cast<unsigned>(found[at]), static_cast<unsigned>(expected[at]));
    }
    return {};
}

std::string CaseRunner::run(CollectiveCase wanted) {
    try {
        prepare(wanted);
        std::vector<Work> works = enqueue(wanted);
        take_snapshots();
        for (Work& work : works) work.wait();
        return check(wanted);
    } catch (const std::exception& error) {
        return fmt::format("{}: {}", wanted.name(), error.what());
    }
}

std::vector<std::vector<std::byte>> CaseRunner::outputs(const CollectiveCase&) const {
    std::vector<std::vector<std::byte>> all;
    for (std::size_t rank = 0; rank < buffers_->outputs.size(); ++rank) {
        all.emplace_back(buffers_->bytes[rank]);
        require_success(cudaMemcpy(all.back().data(), buffers_->outputs[rank], all.back().size(),
                                   cudaMemcpyDefault));
    }
    return all;
}

std::vector<std::vector<std::byte>> CaseRunner::all_bytes() const {
    std::vector<std::vector<std::byte>> all = outputs({});
    for (std::size_t rank = 0; rank < buffers_->inputs.size(); ++rank) {
        all.emplace_back(buffers_->bytes[rank]);
        require_success(cudaMemcpy(all.back().data(), buffers_->inputs[rank], all.back().size(),
                                   cudaMemcpyDefault));
    }
    return all;
}

}  // namespace rondo::test
