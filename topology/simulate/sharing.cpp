// Progressive filling.
#include "topology/simulate/sharing.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "topology/simulate/limits.hpp"

namespace rondo::simulation {
namespace {

constexpr double same = 1 + 1e-12;
constexpr double nothing = 1e-9;
constexpr double unlimited = 1e300;

}  // namespace

FairSharing::FairSharing(const std::vector<double>& capacities,
                         const std::vector<Demand>& demands) {
    const std::vector<bool> limits = find_limits(capacities, demands);
    resources_.resize(capacities.size());
    for (const Demand& demand : demands) {
        Kind kind{.first_use = static_cast<std::uint32_t>(uses_.size()), .ceiling = demand.ceiling};
        for (const auto& [resource, amount] : demand.uses) {
            if (!limits[resource]) continue;
            uses_.push_back({resource, amount});
            ++resources_[resource].last_user;
        }
        kind.last_use = static_cast<std::uint32_t>(uses_.size());
        kinds_.push_back(kind);
    }
    by_ceiling_.resize(kinds_.size());
    std::iota(by_ceiling_.begin(), by_ceiling_.end(), 0u);
    std::ranges::stable_sort(by_ceiling_, {}, [&](std::uint32_t i) { return kinds_[i].ceiling; });
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < capacities.size(); ++i) {
        Resource& resource = resources_[i];
        resource.capacity = capacities[i];
        resource.first_user = first;
        first += resource.last_user;
        resource.last_user = resource.first_user;
    }
    users_.resize(first);
    for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
        for (std::uint32_t use = kinds_[kind].first_use; use < kinds_[kind].last_use; ++use) {
            users_[resources_[uses_[use].resource].last_user++] = kind;
        }
    }
}

void FairSharing::touch(std::uint32_t kind) {
    if (kinds_[kind].touched) return;
    kinds_[kind].touched = true;
    touched_.push_back(kind);
}

void FairSharing::begin(std::uint32_t kind) {
    ++kinds_[kind].count;
    touch(kind);
}

void FairSharing::end(std::uint32_t kind) {
    --kinds_[kind].count;
    touch(kind);
}

void FairSharing::reach(const Kind& kind) {
    for (std::uint32_t use = kind.first_use; use < kind.last_use; ++use) {
        Resource& resource = resources_[uses_[use].resource];
        if (resource.reached) continue;
        resource.reached = true;
        resource.left = resource.capacity;
        resource.weight = 0;
        joined_.push_back(uses_[use].resource);
    }
}

/// What shares resources with what has changed, directly or through others.
void FairSharing::find_joined() {
    joined_.clear();
    for (const std::uint32_t number : touched_) {
        Kind& kind = kinds_[number];
        kind.touched = false;
        if (kind.count == kind.shared_count) continue;
        kind.shared_count = kind.count;
        reach(kind);
        if (kind.first_use == kind.last_use) kind.rate = kind.ceiling;
    }
    touched_.clear();
    for (std::size_t i = 0; i < joined_.size(); ++i) {
        const Resource& resource = resources_[joined_[i]];
        for (std::uint32_t user = resource.first_user; user < resource.last_user; ++user) {
            Kind& kind = kinds_[users_[user]];
            if (kind.count == 0 || kind.grows) continue;
            kind.grows = true;
            ++growing_;
            reach(kind);
            for (std::uint32_t use = kind.first_use; use < kind.last_use; ++use) {
                resources_[uses_[use].resource].weight += uses_[use].amount * kind.count;
            }
        }
    }
}

void FairSharing::settle(Kind& kind, double rate) {
    kind.rate = rate;
    kind.grows = false;
    --growing_;
    for (std::uint32_t use = kind.first_use; use < kind.last_use; ++use) {
        Resource& resource = resources_[uses_[use].resource];
        const double weight = uses_[use].amount * kind.count;
        resource.left -= weight * rate;
        resource.weight -= weight;
    }
}

/// The joined resource that is full first, and the rate at which it is. Levels only rise when
/// transfers settle, so one that has not risen since it was noted is the lowest.
FairSharing::Level FairSharing::lowest() {
    while (!levels_.empty()) {
        const Level noted = levels_.front();
        const Resource& resource = resources_[noted.resource];
        const double now =
            resource.weight <= nothing ? unlimited : std::max(resource.left, 0.0) / resource.weight;
        if (now <= noted.rate * same) return {now, noted.resource};
        std::ranges::pop_heap(levels_, std::greater<>(), &Level::rate);
        if (now == unlimited) {
            levels_.pop_back();
        } else {
            levels_.back().rate = now;
            std::ranges::push_heap(levels_, std::greater<>(), &Level::rate);
        }
    }
    return {unlimited, 0};
}

void FairSharing::fill() {
    std::ranges::make_heap(levels_, std::greater<>(), &Level::rate);
    for (auto next = by_ceiling_.begin(); growing_ > 0;) {
        while (!kinds_[*next].grows) ++next;
        const Level full = lowest();
        if (kinds_[*next].ceiling <= full.rate) {
            settle(kinds_[*next], kinds_[*next].ceiling);
            continue;
        }
        const Resource& resource = resources_[full.resource];
        for (std::uint32_t user = resource.first_user; user < resource.last_user; ++user) {
            if (kinds_[users_[user]].grows) settle(kinds_[users_[user]], full.rate);
        }
    }
}

void FairSharing::share() {
    find_joined();
    levels_.clear();
    for (const std::uint32_t number : joined_) {
        Resource& resource = resources_[number];
        resource.reached = false;
        if (resource.weight > nothing) {
            levels_.push_back({resource.capacity / resource.weight, number});
        }
    }
    fill();
}

}  // namespace rondo::simulation
