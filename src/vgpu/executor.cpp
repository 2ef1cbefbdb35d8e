// Resuming blocks in turn, and handing them from one thread to another.
#include "vgpu/executor.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "vgpu/scheduler.hpp"

namespace vgpu {

namespace {

thread_local Block* block_of_thread = nullptr;

}  // namespace

__attribute__((noinline)) void detail::set_running_block(Block* block) {
    block_of_thread = block;
}

void detail::block_entry(void* argument) {
    auto& block = *static_cast<Block*>(argument);
    auto& kernel = std::get<KernelCommand>(block.launch->command);
    try {
        kernel.arguments.run(kernel.kernel->description);
    } catch (const BlockKilled&) {
        // The reason is already recorded with the device or asked for by a test.
    } catch (const std::exception& error) {
        block.scheduler->block_failed(block, error.what());
    } catch (...) {
        block.scheduler->block_failed(block, "an exception that is not a std::exception");
    }
}

__attribute__((noinline)) Block* block_of_this_thread() noexcept {
    return block_of_thread;
}

bool Block::before(const Block& other) const {
    return std::tie(info.device, launch_number, index) <
           std::tie(other.info.device, other.launch_number, other.index);
}

double Block::place_in_launch() const {
    return (static_cast<double>(index) + 0.5) / static_cast<double>(launch_blocks);
}

bool Block::goes_with(const Block& other) const {
    return index * other.launch_blocks < (other.index + 1) * launch_blocks &&
           other.index * launch_blocks < (index + 1) * other.launch_blocks;
}

void Block::recycle() {
    shared = nullptr;
    waiting = started = running = false;
    kill.store(false, std::memory_order_relaxed);
    interactions = 0;
    work_bytes = 0;
}

void Executor::count_unbegun(std::ptrdiff_t more) {
    unbegun_.store(unbegun_.load(std::memory_order_relaxed) + static_cast<std::size_t>(more),
                   std::memory_order_relaxed);
}

void Executor::choose(Block& block) {
    block.running = true;
    if (!block.started) count_unbegun(-1);
}

Block* Executor::pick() {
    // The clock is slow: deadlines are looked at when nothing else can run, and now and then.
    constexpr unsigned clock_period = 64;
    if (blocks_.empty()) return nullptr;
    Block* const block = ++picks_ % clock_period != 0 ? pick(0) : nullptr;
    return block != nullptr ? block : pick(global_timer_ns());
}

Block* Executor::pick(std::uint64_t now) {
    const std::size_t count = blocks_.size();
    std::size_t at = cursor_;
    for (std::size_t i = 0; i < count; ++i, ++at) {
        if (at >= count) at = 0;
        Block& block = *blocks_[at];
        if (block.running || !can_go_on(block, now)) continue;
        cursor_ = at + 1;
        choose(block);
        return &block;
    }
    return nullptr;
}

unsigned Executor::run_some(unsigned most) {
    std::unique_lock lock(mutex_);
    unsigned runs = 0;
    for (; runs < most; ++runs) {
        Block* const block = pick();
        if (block == nullptr) break;
        lock.unlock();
        const bool ended = run(*block);
        if (ended) scheduler_.block_ended(*block);
        lock.lock();
        after_run(*block, ended);
    }
    remove_ended();
    return runs;
}

/// An ended block stays in the list, and seems to run there, until its end is known and the thread
/// has time: the deadlock search must not miss it, and nobody else may take it.
void Executor::after_run(Block& block, bool ended) {
    block.running = ended;
    ended_ += ended ? 1 : 0;
}

void Executor::remove_ended() {
    if (ended_ == 0) return;
    std::size_t kept = 0;
    std::size_t cursor = 0;
    for (std::size_t at = 0; at < blocks_.size(); ++at) {
        if (blocks_[at]->running) {
            keep(std::move(blocks_[at]));
            continue;
        }
        if (at < cursor_) ++cursor;
        if (kept != at) blocks_[kept] = std::move(blocks_[at]);
        ++kept;
    }
    blocks_.resize(kept);
    cursor_ = cursor;
    ended_ = 0;
}

std::size_t Executor::count_runnable() {
    std::scoped_lock lock(mutex_);
    const std::uint64_t now = global_timer_ns();
    return static_cast<std::size_t>(
        std::count_if(blocks_.begin(), blocks_.end(),
                      [now](const auto& block) { return can_go_on(*block, now); }));
}

void Executor::run_nth_runnable(std::size_t n) {
    std::unique_lock lock(mutex_);
    const std::uint64_t now = global_timer_ns();
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& block) {
        return can_go_on(*block, now) && n-- == 0;
    });
    if (found == blocks_.end()) return;
    Block& block = **found;
    choose(block);
    lock.unlock();
    const bool ended = run(block);
    if (ended) scheduler_.block_ended(block);
    lock.lock();
    after_run(block, ended);
    remove_ended();
}

std::unique_ptr<Block> Executor::fresh_block() {
    if (unused_.empty()) return std::make_unique<Block>();
    auto block = std::move(unused_.back());
    unused_.pop_back();
    return block;
}

void Executor::retire(std::unique_ptr<Block> block) {
    scheduler_.block_ended(*block);
    keep(std::move(block));
}

void Executor::keep(std::unique_ptr<Block> block) {
    block->recycle();
    constexpr std::size_t kept = 256;
    if (unused_.size() < kept) unused_.push_back(std::move(block));
}

void Executor::adopt(std::unique_ptr<Block> block) {
    std::scoped_lock lock(mutex_);
    adopt_held(std::move(block));
}

void Executor::adopt_held(std::unique_ptr<Block> block) {
    if (!block->started) count_unbegun(1);
    if (blocks_.empty() || !block->before(*blocks_.back())) {
        blocks_.push_back(std::move(block));
        return;
    }
    auto at = std::upper_bound(blocks_.begin(), blocks_.end(), block,
                               [](const auto& a, const auto& b) { return a->before(*b); });
    blocks_.insert(at, std::move(block));
}

std::vector<std::unique_ptr<Block>> Executor::give_up_if(
    const std::function<bool(const Block&)>& wanted) {
    std::vector<std::unique_ptr<Block>> given;
    for (auto& block : blocks_) {
        if (block->running || !wanted(*block)) continue;
        if (!block->started) count_unbegun(-1);
        given.push_back(std::move(block));
    }
    std::erase(blocks_, nullptr);
    cursor_ = 0;
    return given;
}

std::vector<std::unique_ptr<Block>> Executor::give_up_all() {
    std::scoped_lock lock(mutex_);
    return give_up_if([](const Block&) { return true; });
}

std::vector<std::unique_ptr<Block>> Executor::give_up_half() {
    std::scoped_lock lock(mutex_);
    if (blocks_.size() < 2) return {};
    // The middle of the lanes; where all are the same lane, the middle of the devices.
    const auto [least, most] = std::minmax_element(
        blocks_.begin(), blocks_.end(),
        [](const auto& a, const auto& b) { return a->place_in_launch() < b->place_in_launch(); });
    const double low = (*least)->place_in_launch(), high = (*most)->place_in_launch();
    if (low < high) {
        return give_up_if(
            [&](const Block& block) { return block.place_in_launch() > (low + high) / 2; });
    }
    const Block& middle = *blocks_[(blocks_.size() - 1) / 2];
    return give_up_if([&](const Block& block) { return middle.before(block); });
}

std::vector<std::unique_ptr<Block>> Executor::give_up_runnable() {
    std::scoped_lock lock(mutex_);
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [](const auto& block) {
        return !block->running && can_go_on(*block, 0);
    });
    if (found == blocks_.rend()) return {};
    const Block& runnable = **found;
    const bool one_lane = std::all_of(blocks_.begin(), blocks_.end(), [&](const auto& block) {
        return block->goes_with(runnable);
    });
    return give_up_if([&](const Block& block) {
        return one_lane ? &block == &runnable : block.goes_with(runnable);
    });
}

std::vector<std::unique_ptr<Block>> Executor::give_up_unbegun() {
    if (unbegun_.load(std::memory_order_relaxed) == 0) return {};
    std::scoped_lock lock(mutex_);
    if (std::exchange(picks_when_asked_, picks_) != picks_) return {};
    std::size_t more = (unbegun_.load(std::memory_order_relaxed) + 1) / 2;
    return give_up_if(
        [&more](const Block& block) { return !block.started && more > 0 && more-- > 0; });
}

std::size_t Executor::size() const {
    std::scoped_lock lock(mutex_);
    return blocks_.size();
}

}  // namespace vgpu
