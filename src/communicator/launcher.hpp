// From a checked call to kernels in the ranks' streams: first everything is prepared for all ranks,
// then all are launched. Between the first and the last launch nothing is allocated or freed and
// nothing waits: kernels of the first ranks wait for those of the last already.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "communicator/state.hpp"
#include "kernels/launch.hpp"

namespace rondo::detail {

/// What one rank needs besides the call: prepared, not yet launched.
struct PreparedRank {
    std::uint32_t rank = 0;
    Call call = {};  ///< as the rank sees it: in an all_to_all each has counts of its own
    ChunkCut cut = {};
    StreamRef stream{DeviceId(0), nullptr};
    bool capturing = false;
    bool is_launched = false;
    const RankBuffers* buffers = nullptr;
    std::byte* staged_input = nullptr;  ///< where peers can't map the buffer itself
    std::byte* staged_output = nullptr;
    const kernels::Segments* segments = nullptr;
    const std::uint64_t* part_begins = nullptr;
    CallRecord* record = nullptr;
    std::byte* upload = nullptr;  ///< pinned memory for the program, when the rank has none yet
    std::uint32_t number = 0;     ///< of the call in the rank's log
    std::vector<DeviceBuffer<std::byte>> for_graph = {};
};

/// One collective on its way. Lives on the caller's stack; one at a time in a thread.
class Launcher {
public:
    Launcher(CommunicatorState& state, const Call& call);
    ~Launcher();

    /// Plan, memory and streams of these ranks. Throws InvalidArgument, Unsupported or CudaError;
    /// then nothing has happened. May wait for earlier calls to give back memory when `may_wait`:
    /// that is for those who have called for all ranks.
    void prepare(std::uint32_t first_rank, std::span<const RankBuffers> buffers, bool may_wait);
    /// Puts them into their streams. When that fails, all ranks end with the cause. The records in
    /// the order of the ranks, linked; null when the streams are being captured.
    CallRecord* launch();

private:
    void prepare_rank(PreparedRank& prepared, bool may_wait);
    std::byte* take_staging(PreparedRank& prepared, std::size_t bytes);
    void free_staging(PreparedRank& prepared) noexcept;
    void write_segments(PreparedRank& prepared, bool may_wait);
    void write_begins(PreparedRank& prepared, bool may_wait);
    void fill_arguments(const PreparedRank& prepared);
    void copy_staged(const PreparedRank& prepared, bool is_input);
    CallRecord* launch_rank(PreparedRank& prepared);
    void retain(PreparedRank& prepared);

    CommunicatorState& state_;
    const Call& call_;
    PlanUse plan_;
    kernels::Kernel<kernels::ProgramArguments> kernel_;
    std::uint64_t digest_ = 0;
    kernels::ProgramArguments arguments_;
    std::vector<PreparedRank>& ranks_;  ///< of the thread: its memory is kept for the next call
};

}  // namespace rondo::detail
