// A warp while it runs: registers, lanes, and the groups of lanes that have gone different ways.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/ptx/code.hpp"

namespace vgpu::ptx {

class BlockRun;

/// One activation of a function, shared by all lanes that are in it.
struct Frame {
    const Code* code = nullptr;
    Frame* caller = nullptr;
    const Instruction* call = nullptr;  ///< in the caller's code
    std::uint32_t return_pc = 0;
    std::uint32_t depth = 0;
    std::uint32_t references = 0;    ///< groups and callees
    std::uint32_t local_offset = 0;  ///< of its variables, in each lane's local memory
    std::byte* registers = nullptr;
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity = 0;
};

enum class GroupState : std::uint8_t {
    ready,
    at_block_barrier,
    at_warp_barrier,
    at_warp_operation
};

/// Lanes of a warp that are at one place of the program.
struct Group {
    std::uint32_t lanes = 0;
    std::uint32_t pc = 0;
    Frame* frame = nullptr;
    GroupState state = GroupState::ready;
    std::uint32_t wait_lanes = 0;  ///< whom a warp operation waits for
    std::uint32_t barrier = 0;     ///< which one of the block
    bool passed_over = false;      ///< spun; others go first
};

class Warp {
public:
    Warp() = default;
    Warp(const Warp&) = delete;
    Warp& operator=(const Warp&) = delete;
    ~Warp();

    /// Makes all threads of the block's warp `number` ready to enter `code`.
    void start(BlockRun& block, unsigned number, const Code& code);
    /// Runs until no lane can go on, a lane spins, or so many instructions have run.
    void run(std::uint32_t budget);

    bool finished() const { return live == 0; }
    bool runnable() const;
    /// Lets lanes go on that wait at a barrier of the block.
    void release_barrier(std::uint32_t barrier);

    template <class T>
    T* out(Slot slot) const {
        return reinterpret_cast<T*>(base[0] + slot);
    }
    template <class T>
    const T* in(Slot slot) const {
        return reinterpret_cast<const T*>(base[slot & 3] + (slot & ~Slot{3}));
    }

    // ---- for handlers
    /// Lanes in `taken` go to `target`, the other active ones go on.
    void branch(std::uint32_t taken, std::uint32_t target);
    void exit_lanes(std::uint32_t lanes);
    void return_lanes(std::uint32_t lanes);
    void enter(std::uint32_t lanes, const Code& callee, const Instruction& call);
    void wait_at_block_barrier(std::uint32_t barrier);
    /// True when all of `members` that live are here; otherwise the instruction is tried again.
    bool gather(std::uint32_t members, bool barrier);
    /// A strong load saw what it saw before: the warp probably spins.
    void note_poll(std::uint32_t at, std::uint64_t address, std::uint64_t seen);
    void give_way();

    const Instruction& current() const { return code[pc - 1]; }
    /// Host address of a lane's local memory.
    std::byte* local_memory(unsigned lane) const;

    std::byte* base[4] = {};
    std::uint32_t exec = 0;    ///< lanes of the current instruction
    std::uint32_t active = 0;  ///< lanes of the current group
    std::uint32_t pc = 0;      ///< of the next instruction
    std::uint32_t stop = 0;    ///< another group waits there
    bool attention = false;    ///< groups have changed
    const Instruction* code = nullptr;
    Frame* frame = nullptr;
    std::uint32_t carry = 0;  ///< CC.CF of all lanes

    BlockRun* block = nullptr;
    unsigned number = 0;
    std::uint32_t live = 0;
    bool spun = false;  ///< since run() began
    std::uint64_t instructions = 0, thread_instructions = 0;
    std::vector<Group> groups;  ///< all but the current one

private:
    void select();
    void merge_groups();
    void settle_warp_waits();
    void suspend_current(GroupState state);
    Frame* new_frame(const Code& callee, Frame* caller);
    void drop(Frame* frame);
    void load(const Group& group);

    /// What strong loads saw last, by their places.
    struct Poll {
        std::uint32_t pc = 0;
        std::uint64_t address = 0, seen = 0;
    };
    std::array<Poll, 8> polls_;
    std::vector<std::unique_ptr<Frame>> frames_;
    std::vector<Frame*> free_frames_;
};

}  // namespace vgpu::ptx
