// One call of a collective, from inputs to checked outputs: what every suite over collectives is
// made of.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "tests/communicator/test_memory.hpp"

namespace rondo::test {

struct CollectiveCase {
    Collective collective = Collective::all_reduce;
    ElementType type = ElementType::f32;
    ReduceOp op = ReduceOp::sum;
    std::uint64_t count = 0;  ///< of the whole message, or of one rank's part
    std::uint32_t root = 0;
    Strategy strategy = {};
    std::uint32_t schedule = 0;
    bool in_place = false;
    bool together = false;   ///< one call of the communicator instead of one by each rank's handle
    bool uneven = false;     ///< reduce_scatter and all_gather: every rank has another count
    std::size_t offset = 0;  ///< bytes by which all buffers are shifted, a multiple of the element
    std::vector<std::uint64_t> counts = {};  ///< filled in by the runner

    std::string name() const;
};

/// Device memory of all ranks of a communicator, used again for every case.
class CaseRunner {
public:
    explicit CaseRunner(Communicator communicator, MemorySource source = MemorySource::device);
    ~CaseRunner();

    Communicator& communicator() { return communicator_; }
    /// Runs it once and returns what is wrong, or nothing. Every byte of every output is looked at,
    /// and some around them.
    std::string run(CollectiveCase wanted);
    /// The two halves of run(), for whoever does something in between.
    void prepare(CollectiveCase& wanted);
    std::vector<Work> enqueue(const CollectiveCase& wanted);
    Work enqueue_together(const CollectiveCase& wanted);
    void take_snapshots();
    std::string check(const CollectiveCase& wanted);
    /// The outputs of all ranks.
    std::vector<std::vector<std::byte>> outputs(const CollectiveCase& wanted) const;
    /// All buffers, to see that nothing was written.
    std::vector<std::vector<std::byte>> all_bytes() const;

private:
    struct Buffers;

    Communicator communicator_;
    std::unique_ptr<Buffers> buffers_;
};

/// Whether the strategy does the collective at all.
bool applies(const Strategy& strategy, Collective collective);

}  // namespace rondo::test
