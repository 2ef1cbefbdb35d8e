// Finds plans, has them made and lets go of those that nobody uses.
#include "communicator/plan_cache.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "communicator/failure.hpp"
#include "kernels/program_numbers.hpp"
#include "schedule/builder.hpp"

namespace rondo::detail {
namespace {

constexpr std::size_t most_shortcuts = 32;

/// One rank's data goes to the other: written into its output, or through a channel where the
/// sender does not reach that.
Schedule transfer_schedule(bool reaches) {
    Schedule start{.name = "transfer",
                   .collective = Collective::broadcast,
                   .ranks = 2,
                   .root = 0,
                   .destinations = {1},
                   .unit_shares = {1}};
    ScheduleBuilder builder(std::move(start), 4);
    const std::uint32_t sender = builder.lane(0, 0);
    const std::uint32_t receiver = builder.lane(1, 0);
    if (reaches) {
        const std::uint32_t done = builder.event(sender, receiver);
        builder.add(sender, {.unit = 0,
                             .sources = {input_of(0)},
                             .destinations = {output_of(1)},
                             .signals = {done}});
        builder.add(receiver, {.unit = 0, .waits = {done}});
    } else {
        const Operand channel = builder.channel(sender, receiver);
        builder.add(sender, {.unit = 0, .sources = {input_of(0)}, .destinations = {channel}});
        builder.add(receiver, {.unit = 0, .sources = {channel}, .destinations = {output_of(1)}});
    }
    return builder.take();
}

constexpr std::uint64_t transfer_slot = 64 << 10;

/// What a plan is made for where ranks know only their own parts: they must all choose the same.
constexpr std::uint64_t count_of_uneven_pairs = 1 << 20;

std::uint64_t planned_count(const Call& call) {
    return has_uneven_pairs(call) ? count_of_uneven_pairs : call.count;
}

}  // namespace

PlanCache::PlanCache(const Machine& machine, Arena& arena, std::shared_ptr<const Planner> planner,
                     Options options)
    : machine_(machine),
      arena_(arena),
      planner_(std::move(planner)),
      options_(std::move(options)),
      next_flag_number_(kernels::first_program_flag) {}

PlanCache::Key PlanCache::key_of(const Call& call) {
    return {.collective = call.collective,
            .element_bytes = static_cast<std::uint32_t>(size_of(call.type)),
            .count = planned_count(call),
            .root = call.root,
            .schedule = call.schedule,
            .uneven_pairs = has_uneven_pairs(call),
            .strategy = call.strategy};
}

Request PlanCache::request_of(const Call& call) const {
    // A call of an all_to_all counts what one rank sends, a request what all of them do.
    const std::uint64_t senders = call.collective == Collective::all_to_all ? machine_.ranks() : 1;
    const std::uint64_t count = planned_count(call);
    return {.collective = call.collective,
            .count = count > UINT64_MAX / senders ? UINT64_MAX : count * senders,
            .element_bytes = static_cast<std::uint32_t>(size_of(call.type)),
            .root = call.root,
            .destinations = {call.destinations.begin(), call.destinations.end()},
            .uneven_pairs = has_uneven_pairs(call),
            .strategy = call.strategy,
            .tuning = options_.tuning};
}

PlanUse PlanCache::find(const Call& call) {
    const Key key = key_of(call);
    {
        const std::lock_guard lock(mutex_);
        for (const Shortcut& known : shortcuts_) {
            if (known.key == key && std::ranges::equal(known.destinations, call.destinations)) {
                return PlanUse(known.entry->plan.get(), known.entry->users);
            }
        }
    }
    Entry wanted;
    Maker make;
    std::shared_ptr<const Schedule> custom;
    if (call.schedule != 0) {
        custom = schedule(call.schedule);
        wanted.schedule = call.schedule;
        const std::uint64_t bytes = size_class(call.count * size_of(call.type));
        wanted.request = {.count = bytes};
        make = [this, &custom, bytes] {
            return std::make_shared<const Plan>(
                planner_->plan_custom(*custom, bytes, options_.tuning));
        };
    } else {
        const Request request = request_of(call);
        wanted.request = planner_->canonical(request);
        make = [this, request] {
            auto plan = planner_->plan(request);
            require_verified(plan->schedule);
            return plan;
        };
    }
    std::shared_ptr<Entry> entry;
    PlanUse use = find_entry(std::move(wanted), make, entry);
    const std::lock_guard lock(mutex_);
    Shortcut shortcut{key, {call.destinations.begin(), call.destinations.end()}, entry};
    if (shortcuts_.size() < most_shortcuts) {
        shortcuts_.push_back(std::move(shortcut));
    } else {
        shortcuts_[next_shortcut_++ % most_shortcuts] = std::move(shortcut);
    }
    return use;
}

PlanUse PlanCache::find_transfer(std::uint32_t from, std::uint32_t to, std::uint32_t replicas) {
    Entry wanted;
    wanted.transfer =
        1 + (std::uint64_t{from} * kernels::max_ranks + to) * kernels::max_blocks + replicas;
    const auto make = [&] {
        auto plan = std::make_shared<Plan>();
        plan->schedule = transfer_schedule(machine_.reaches(from, to));
        require_verified(plan->schedule);
        plan->partition = {.replicas = replicas, .slot_bytes = transfer_slot};
        return plan;
    };
    std::shared_ptr<Entry> entry;
    return find_entry(std::move(wanted), make, entry, {from, to});
}

PlanUse PlanCache::find_entry(Entry wanted, const Maker& make, std::shared_ptr<Entry>& found,
                              const std::vector<std::uint32_t>& members) {
    std::promise<std::shared_ptr<PreparedPlan>> promise;
    bool is_new = false;
    PlanUse reserved;  // nobody drops it while it is being made
    {
        const std::lock_guard lock(mutex_);
        const auto known = std::ranges::find_if(entries_, [&](const auto& entry) {
            return entry->schedule == wanted.schedule && entry->transfer == wanted.transfer &&
                   entry->request == wanted.request;
        });
        is_new = known == entries_.end();
        if (is_new) {
            wanted.plan = promise.get_future().share();
            entries_.push_front(std::make_shared<Entry>(std::move(wanted)));
        } else {
            entries_.splice(entries_.begin(), entries_, known);
        }
        found = entries_.front();
        reserved = PlanUse(nullptr, found->users);
    }
    if (!is_new) return PlanUse(found->plan.get(), found->users);
    try {
        promise.set_value(prepare(make(), members));
    } catch (...) {
        {
            const std::lock_guard lock(mutex_);
            entries_.remove(found);  // before anybody finds a plan there that is none
        }
        found->users->now.fetch_add(1);  // whoever looks for one to drop leaves it alone
        promise.set_exception(std::current_exception());
        throw;
    }
    PlanUse use(found->plan.get(), found->users);
    std::unique_lock lock(mutex_);
    const bool too_many = entries_.size() > most_plans;
    lock.unlock();
    if (too_many) drop_oldest();
    return use;
}

std::shared_ptr<PreparedPlan> PlanCache::prepare(std::shared_ptr<const Plan> plan,
                                                 const std::vector<std::uint32_t>& members) {
    const auto flags = static_cast<std::uint32_t>(2 * plan->schedule.channels.size() +
                                                  plan->schedule.events.size());
    const PrepareOptions options{.first_epoch = options_.first_epoch,
                                 .first_flag_number = next_flag_number_.fetch_add(flags),
                                 .members = members};
    while (true) {
        try {
            return std::make_shared<PreparedPlan>(machine_, arena_, plan, options);
        } catch (const NoRoom&) {
            if (!drop_oldest()) throw;
        }
    }
}

bool PlanCache::drop_oldest() {
    std::vector<std::shared_ptr<Entry>> oldest_first;
    {
        const std::lock_guard lock(mutex_);
        oldest_first.assign(entries_.rbegin(), entries_.rend());
    }
    return std::ranges::any_of(oldest_first, [this](const auto& entry) { return drop(entry); });
}

/// Devices are asked without the lock; then nobody may have begun to use the plan meanwhile.
bool PlanCache::drop(const std::shared_ptr<Entry>& entry) {
    const std::uint64_t uses = entry->users->ever.load();
    if (entry->users->now.load() != 0 || !options_.is_idle(*entry->plan.get())) return false;
    const std::lock_guard lock(mutex_);
    if (entry->users->ever.load() != uses) return false;
    entries_.remove(entry);
    std::erase_if(shortcuts_, [&](const Shortcut& known) { return known.entry == entry; });
    return true;
}

std::uint32_t PlanCache::add_schedule(Schedule schedule) {
    const std::lock_guard lock(mutex_);
    schedules_.push_back(std::make_shared<const Schedule>(std::move(schedule)));
    return static_cast<std::uint32_t>(schedules_.size());
}

std::shared_ptr<const Schedule> PlanCache::schedule(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    if (number == 0 || number > schedules_.size()) {
        throw InvalidArgument(
            fmt::format("there is no schedule {}; {} were added", number, schedules_.size()));
    }
    return schedules_[number - 1];
}

MissingFlag PlanCache::describe_flag(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Entry>& entry : entries_) {
        if (entry->plan.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
        const PreparedPlan& plan = *entry->plan.get();
        if (!plan.has_flag(number)) continue;
        FlagInfo flag = plan.flag(number);
        flag.writer_rank = plan.member(flag.writer_rank);
        return {
            fmt::format("{} ({} by {})", rondo::describe(flag),
                        entry->transfer != 0 ? "send" : to_string(plan.plan().schedule.collective),
                        plan.plan().schedule.name),
            flag.writer_rank};
    }
    return {fmt::format("flag {}", number), 0};
}

}  // namespace rondo::detail
