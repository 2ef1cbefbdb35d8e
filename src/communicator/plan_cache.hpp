// Plans that are ready on the devices, by what they depend on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator/call.hpp"
#include "communicator/failure.hpp"
#include "communicator/prepared_plan.hpp"
#include "strategy/planner.hpp"

namespace rondo::detail {

/// How many use a plan, and how many ever did.
struct PlanUsers {
    std::atomic<int> now = 0;
    std::atomic<std::uint64_t> ever = 0;
};

/// A plan in use: as long as one of these lives, the cache keeps the plan where all ranks find it.
class PlanUse {
public:
    PlanUse() = default;
    PlanUse(std::shared_ptr<PreparedPlan> plan, std::shared_ptr<PlanUsers> users)
        : plan_(std::move(plan)), users_(std::move(users)) {
        users_->ever.fetch_add(1);
        users_->now.fetch_add(1);
    }
    PlanUse(PlanUse&&) noexcept = default;
    PlanUse& operator=(PlanUse&& other) noexcept {
        std::swap(plan_, other.plan_);
        std::swap(users_, other.users_);
        return *this;
    }
    ~PlanUse() {
        if (users_ != nullptr) users_->now.fetch_sub(1);
    }
    /// Another use of the same plan.
    PlanUse share() const { return {plan_, users_}; }
    PreparedPlan& operator*() const { return *plan_; }
    PreparedPlan* operator->() const { return plan_.get(); }
    explicit operator bool() const { return plan_ != nullptr; }

private:
    std::shared_ptr<PreparedPlan> plan_;
    std::shared_ptr<PlanUsers> users_;
};

/// Keeps a bounded number of plans, those that were used last. Thread safe: a plan that several
/// ranks ask for at once is made by one of them, without a lock; the others wait for that one.
class PlanCache {
public:
    struct Options {
        std::uint32_t first_epoch = 0;
        Tuning tuning = {};
        /// True when no kernel runs the plan any more. Asks the devices.
        std::function<bool(PreparedPlan&)> is_idle = {};
    };

    PlanCache(const Machine& machine, Arena& arena, std::shared_ptr<const Planner> planner,
              Options options);

    /// Throws InvalidArgument or Unsupported.
    PlanUse find(const Call& call);
    /// The same for one sender and one receiver, which are ranks 0 and 1 of the plan.
    PlanUse find_transfer(std::uint32_t from, std::uint32_t to, std::uint32_t replicas);

    /// A proved schedule; its number is for Call::schedule.
    std::uint32_t add_schedule(Schedule schedule);
    /// Throws InvalidArgument when there is none with that number.
    std::shared_ptr<const Schedule> schedule(std::uint32_t number) const;

    /// The plan of a flag and its name in reports, or a text that says only the number.
    MissingFlag describe_flag(std::uint32_t number) const;

    Request request_of(const Call& call) const;
    const Planner& planner() const { return *planner_; }

    static constexpr std::size_t most_plans = 64;

private:
    /// What a call says of its plan, without allocations.
    struct Key {
        Collective collective = Collective::all_reduce;
        std::uint32_t element_bytes = 0;
        std::uint64_t count = 0;
        std::uint32_t root = 0;
        std::uint32_t schedule = 0;
        bool uneven_pairs = false;
        Strategy strategy = {};
        bool operator==(const Key&) const = default;
    };
    struct Entry {
        Request request;             ///< canonical; of custom schedules and transfers: their own
        std::uint32_t schedule = 0;  ///< 1 + its index; 0: a strategy's
        std::uint64_t transfer = 0;  ///< not 0: of these two ranks
        std::shared_future<std::shared_ptr<PreparedPlan>> plan;
        std::shared_ptr<PlanUsers> users = std::make_shared<PlanUsers>();
    };
    /// Which entry an exact call had.
    struct Shortcut {
        Key key;
        std::vector<std::uint32_t> destinations;
        std::shared_ptr<Entry> entry;
    };
    using Maker = std::function<std::shared_ptr<const Plan>()>;

    static Key key_of(const Call& call);
    PlanUse find_entry(Entry wanted, const Maker& make, std::shared_ptr<Entry>& found,
                       const std::vector<std::uint32_t>& members = {});
    std::shared_ptr<PreparedPlan> prepare(std::shared_ptr<const Plan> plan,
                                          const std::vector<std::uint32_t>& members);
    /// Drops the plan that was not used for the longest time; false when all are in use.
    bool drop_oldest();
    bool drop(const std::shared_ptr<Entry>& entry);

    const Machine& machine_;
    Arena& arena_;
    const std::shared_ptr<const Planner> planner_;
    const Options options_;
    mutable std::mutex mutex_;                   ///< held for searches in short lists only
    std::list<std::shared_ptr<Entry>> entries_;  ///< the latest first
    std::vector<Shortcut> shortcuts_;
    std::size_t next_shortcut_ = 0;
    std::vector<std::shared_ptr<const Schedule>> schedules_;
    std::atomic<std::uint32_t> next_flag_number_;
};

}  // namespace rondo::detail
