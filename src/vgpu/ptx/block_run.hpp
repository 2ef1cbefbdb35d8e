// One block while it runs: its warps, its shared and local memory, its barriers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vgpu/ptx/code.hpp"
#include "vgpu/ptx/engine.hpp"
#include "vgpu/ptx/warp.hpp"

namespace vgpu::ptx {

class LinkedModule;

/// Addresses of the module's variables, as 32-lane arrays.
class PlacedImage : public Image {
public:
    virtual std::byte* lanes() const = 0;
};

enum class AccessKind : std::uint8_t { read, write, update };

constexpr unsigned block_barriers = 16;

class BlockRun {
public:
    BlockRun(const BlockContext& context, const Code& code, const KernelInfo& info,
             const LinkedModule& module);
    ~BlockRun();
    BlockRun(const BlockRun&) = delete;
    BlockRun& operator=(const BlockRun&) = delete;

    /// Runs all warps to their ends.
    void run();

    // ---- memory
    /// Throws Fault unless the lanes in `exec` may touch `bytes` at their addresses, aligned to
    /// `alignment`. Addresses are those of the host.
    void check(const Warp& warp, const std::uint64_t* addresses, std::uint32_t exec,
               std::size_t bytes, AccessKind kind);
    std::byte* shared() const { return shared_; }
    std::size_t shared_bytes() const { return shared_bytes_; }
    std::byte* local(unsigned thread) const {
        return local_ == nullptr ? nullptr : local_ + thread * local_stride_;
    }
    std::size_t local_bytes() const { return local_bytes_; }

    // ---- barriers
    void arrive(Warp& warp, std::uint32_t barrier, std::uint32_t expected, bool waits);
    /// What each lane contributes to a barrier's reduction; results are there when it completes.
    struct Barrier {
        std::array<std::uint32_t, 32> waiting{};  ///< lanes of each warp that wait
        std::uint32_t arrived = 0;                ///< threads that arrived without waiting
        std::uint32_t expected = 0;               ///< 0: all that live
        std::uint32_t trues = 0, total = 0;       ///< of a reduction under way
        std::uint32_t result_trues = 0, result_total = 0;
        std::uint64_t generation = 0;
    };
    Barrier& barrier(std::uint32_t number) { return barriers_[number]; }
    /// Lanes have ended: barriers may be complete without them.
    void lanes_ended();

    [[noreturn]] void fail(const Warp& warp, FaultKind kind, const std::string& what,
                           unsigned lane = 0) const;
    std::string place(const Warp& warp, unsigned lane) const;

    const BlockContext& context() const { return context_; }
    const LinkedModule& module() const { return module_; }
    unsigned threads() const { return threads_; }
    const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
    std::uint64_t clock();
    std::uint64_t random();

    std::uint64_t yields = 0;

private:
    struct KnownRange {
        std::uint64_t begin = 1, end = 0;
        bool writable = false;
    };
    void fill_specials(unsigned warp, const KernelInfo& info);
    void settle(std::uint32_t number);
    bool run_round();
    const KnownRange* known(std::uint64_t begin, std::uint64_t end, bool writes);
    bool learn(std::uint64_t address);
    void check_slowly(const Warp& warp, const std::uint64_t* addresses, std::uint32_t exec,
                      std::size_t bytes, AccessKind kind);
    [[noreturn]] void report_deadlock() const;

    const BlockContext& context_;
    const LinkedModule& module_;
    const KernelInfo& info_;
    unsigned threads_ = 0, warp_count_ = 0;
    std::byte* shared_ = nullptr;
    std::size_t shared_bytes_ = 0;
    std::byte* local_ = nullptr;
    std::size_t local_bytes_ = 0, local_stride_ = 0, local_mapped_ = 0;
    std::unique_ptr<std::byte[]> shared_memory_, parameter_memory_, special_memory_;
    std::byte* specials_ = nullptr;
    std::array<Barrier, block_barriers> barriers_;
    std::vector<std::unique_ptr<Warp>> warps_;
    std::array<KnownRange, 8> ranges_;
    unsigned next_range_ = 0;
    std::uint64_t changes_seen_ = 0;
    std::uint64_t random_state_ = 0;
    std::uint64_t rounds_ = 0;
};

}  // namespace vgpu::ptx
