// What the test kernels do, written once over a block that g++ (vgpu) and nvcc (GPUs) each provide.
// A block has leader(), index(), linear_index(), block_count(), for_each(count, f), load(),
// store(), signal(), wait(), ticket(), shared_words(), sync() and fail().
#pragma once

#include "tests/vgpu/test_kernels.hpp"

#ifdef __CUDACC__
#define TEST_DEVICE __device__
#else
#define TEST_DEVICE
#endif

namespace test {

template <class Block>
TEST_DEVICE void run(Block& block, const WriteValue& arguments) {
    if (block.leader() && block.linear_index() == 0) {
        block.store(arguments.target, arguments.value);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const MultiplyAdd& arguments) {
    if (block.leader() && block.linear_index() == 0) {
        block.store(arguments.target,
                    block.load(arguments.target) * arguments.factor + arguments.summand);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const CopyWords& arguments) {
    const std::size_t part = (arguments.count + block.block_count() - 1) / block.block_count();
    const std::size_t begin = part * block.linear_index();
    if (begin < arguments.count) {
        const std::size_t count = part < arguments.count - begin ? part : arguments.count - begin;
        block.for_each(count, [&](std::size_t index) {
            block.store(arguments.target + begin + index,
                        block.load(arguments.source + begin + index) + arguments.summand);
        });
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const VisitBlocks& arguments) {
    if (block.leader()) {
        std::uint32_t* const visit = arguments.visits + block.linear_index();
        const uint3 index = block.index();
        block.store(visit, block.load(visit) + 1 + index.x + 100 * index.y + 10000 * index.z);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const AwaitFlag& arguments) {
    if (!block.leader()) {
        return;
    }
    if (arguments.started != nullptr) {
        block.signal(arguments.started, 1);
    }
    const Outcome outcome =
        block.wait(arguments.flag, arguments.wanted, arguments.timeout_ns, arguments.abort);
    if (arguments.outcome != nullptr) {
        block.store(arguments.outcome, static_cast<std::uint32_t>(outcome));
    }
    if (outcome == outcome_ready && arguments.target != nullptr) {
        block.store(arguments.target, arguments.value);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const SignalFlag& arguments) {
    if (block.leader() && block.linear_index() == 0) {
        block.signal(arguments.flag, arguments.value);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const Meet& arguments) {
    if (block.leader()) {
        block.signal(arguments.theirs, 1);
        block.store(arguments.outcome, static_cast<std::uint32_t>(block.wait(
                                           arguments.mine, 1, arguments.timeout_ns, nullptr)));
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const GridBarrier& arguments) {
    if (!block.leader()) {
        return;
    }
    const unsigned count = block.block_count();
    std::uint32_t* const release = arguments.flags + count;
    Outcome outcome = outcome_ready;
    if (block.linear_index() == 0) {
        for (unsigned other = 1; other < count && outcome == outcome_ready; ++other) {
            outcome = block.wait(arguments.flags + other, 1, arguments.timeout_ns, nullptr);
        }
        if (outcome == outcome_ready) {
            block.signal(release, 1);
        }
    } else {
        block.signal(arguments.flags + block.linear_index(), 1);
        outcome = block.wait(release, 1, arguments.timeout_ns, nullptr);
    }
    block.store(arguments.outcomes + block.linear_index(), static_cast<std::uint32_t>(outcome));
}

template <class Block>
TEST_DEVICE void run(Block& block, const RingStep& arguments) {
    if (!block.leader()) {
        return;
    }
    const unsigned lane = block.linear_index();
    Outcome outcome = outcome_ready;
    for (std::uint32_t round = 1; round <= arguments.rounds && outcome == outcome_ready; ++round) {
        if (arguments.starts != 0) {
            block.signal(arguments.next + lane, round);
        }
        outcome = block.wait(arguments.mine + lane, round, arguments.timeout_ns, nullptr);
        if (arguments.starts == 0 && outcome == outcome_ready) {
            block.signal(arguments.next + lane, round);
        }
    }
    block.store(arguments.outcomes + lane, static_cast<std::uint32_t>(outcome));
}

template <class Block>
TEST_DEVICE void run(Block& block, const AppendToLog& arguments) {
    if (block.leader() && block.linear_index() == 0) {
        const std::uint32_t position = block.load(arguments.cursor);
        block.store(arguments.log + position, arguments.id);
        block.store(arguments.cursor, position + 1);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const TakeTicket& arguments) {
    for (std::uint32_t round = 0; block.leader() && round < arguments.rounds; ++round) {
        block.store(arguments.order + block.ticket(arguments.cursor),
                    std::uint32_t(block.linear_index()));
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const UseSharedMemory& arguments) {
    std::uint32_t* const words = block.shared_words();
    block.for_each(arguments.words,
                   [&](std::size_t index) { words[index] = std::uint32_t(index); });
    block.sync();
    if (block.leader()) {
        std::uint32_t sum = 0;
        for (std::uint32_t index = 0; index < arguments.words; ++index) {
            sum += words[index];
        }
        block.store(arguments.target, sum);
    }
}

template <class Block>
TEST_DEVICE void run(Block& block, const FailAssertion&) {
    block.fail();
}

template <class Block>
TEST_DEVICE void run(Block& block, const LoadPack& arguments) {
    if (block.leader()) {
        const uint4 pack = block.load(static_cast<const uint4*>(arguments.address));
        block.store(arguments.target, pack.x + pack.y + pack.z + pack.w);
    }
}

/// Calls f(Arguments{}) for every kernel of one argument.
template <class Function>
void for_each_kernel(Function function) {
    function(WriteValue{});
    function(MultiplyAdd{});
    function(CopyWords{});
    function(VisitBlocks{});
    function(AwaitFlag{});
    function(SignalFlag{});
    function(Meet{});
    function(GridBarrier{});
    function(RingStep{});
    function(AppendToLog{});
    function(TakeTicket{});
    function(UseSharedMemory{});
    function(FailAssertion{});
    function(LoadPack{});
}

/// Loading a kernel is asking for its attributes.
inline cudaError_t load_kernel(const void* entry) {
    cudaFuncAttributes attributes{};
    return cudaFuncGetAttributes(&attributes, entry);
}

inline cudaError_t load_kernels_of_this_file() {
    cudaError_t status = cudaSuccess;
    const auto load = [&](const void* entry) {
        status = status == cudaSuccess ? load_kernel(entry) : status;
    };
    for_each_kernel([&]<class Arguments>(const Arguments&) { load(kernel<Arguments>()); });
    load(sum_arguments_kernel());
    load(small_block_kernel());
    return status;
}

}  // namespace test
