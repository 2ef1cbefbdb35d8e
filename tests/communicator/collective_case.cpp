// Prepares, runs and checks one call.
#include "tests/communicator/collective_case.hpp"

#include <cstring>
#include <numeric>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "tests/communicator/exact_data.hpp"
#include "tests/communicator/with_element.hpp"
#include "tests/kernels/reference.hpp"

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

/// Elements of the whole message.
std::uint64_t total(const CollectiveCase& wanted) {
    const bool has_parts = wanted.collective == Collective::all_gather ||
                           wanted.collective == Collective::reduce_scatter;
    return has_parts ? std::accumulate(wanted.counts.begin(), wanted.counts.end(), std::uint64_t{0})
                     : wanted.count;
}

Part input_part(const CollectiveCase& wanted, std::uint32_t rank) {
    switch (wanted.collective) {
        case Collective::all_gather:
            return own_part(wanted, rank);
        case Collective::reduce_scatter:
            return {0, total(wanted)};
        case Collective::broadcast:
            return {0, rank == wanted.root ? wanted.count : 0};
        default:
            return {0, wanted.count};
    }
}

Part output_part(const CollectiveCase& wanted, std::uint32_t rank) {
    switch (wanted.collective) {
        case Collective::all_gather:
            return {0, total(wanted)};
        case Collective::reduce_scatter:
            return own_part(wanted, rank);
        case Collective::reduce:
            return {0, rank == wanted.root ? wanted.count : 0};
        default:
            return {0, wanted.count};
    }
}

}  // namespace

std::string CollectiveCase::name() const {
    return fmt::format("{} {} {} {} count {} root {}{}{} offset {}", to_string(strategy),
                       to_string(collective), to_string(type), to_string(op), count, root,
                       in_place ? " in place" : "", uneven ? " uneven" : "", offset);
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
        } else if (wanted.collective == Collective::broadcast) {
            result = elements_of(wanted.root, output);
        } else {
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

std::vector<Work> CaseRunner::enqueue(const CollectiveCase& wanted) {
    const auto ranks = static_cast<std::uint32_t>(communicator_.size());
    const std::size_t element = size_of(wanted.type);
    std::vector<Work> works;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::byte* input =
            (wanted.in_place ? buffers_->outputs : buffers_->inputs)[rank] + guard + wanted.offset;
        std::byte* output = buffers_->outputs[rank] + guard + wanted.offset;
        if (wanted.in_place) {
            const std::uint64_t own = own_part(wanted, rank).begin * element;
            if (wanted.collective == Collective::all_gather) input += own;
            if (wanted.collective == Collective::reduce_scatter) output += own;
        }
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
