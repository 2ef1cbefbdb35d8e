// A link behind a narrower one that all its traffic passes too is never full; nor is a memory
// that is faster than everything around it.
#include "topology/simulate/limits.hpp"

#include <algorithm>

namespace rondo::simulation {
namespace {

class LimitFinder {
public:
    LimitFinder(const std::vector<double>& capacities, const std::vector<Demand>& demands)
        : capacities_(capacities),
          demands_(demands),
          users_(capacities.size()),
          limits_(capacities.size()),
          needed_(capacities.size()) {
        for (const Demand& demand : demands) {
            for (const auto& [resource, amount] : demand.uses) users_[resource].push_back(&demand);
        }
    }

    std::vector<bool> run() {
        for (std::uint32_t i = 0; i < capacities_.size(); ++i) limits_[i] = !users_[i].empty();
        for (std::uint32_t i = 0; i < capacities_.size(); ++i) {
            if (limits_[i] && is_behind_another(i)) limits_[i] = false;
        }
        for (std::uint32_t i = 0; i < capacities_.size(); ++i) {
            if (limits_[i] && !needed_[i] && is_wide(i)) limits_[i] = false;
        }
        return std::move(limits_);
    }

private:
    /// How much of the resource's time a byte takes; 0 when the demand does not use it.
    double part(const Demand& demand, std::uint32_t resource) const {
        const auto found = std::ranges::lower_bound(demand.uses, resource, {},
                                                    &std::pair<std::uint32_t, double>::first);
        const bool uses = found != demand.uses.end() && found->first == resource;
        return uses ? found->second / capacities_[resource] : 0;
    }

    /// Another, still looked at, that is at least as busy whatever runs.
    bool is_behind_another(std::uint32_t resource) const {
        return std::ranges::any_of(users_[resource].front()->uses, [&](const auto& use) {
            const std::uint32_t other = use.first;
            return other != resource && limits_[other] &&
                   std::ranges::all_of(users_[resource], [&](const Demand* demand) {
                       return part(*demand, other) >= part(*demand, resource);
                   });
        });
    }

    /// Everything that uses it passes others first, and these together can't fill it.
    bool is_wide(std::uint32_t resource) {
        std::vector<std::pair<std::uint32_t, double>> gates;  // and its use per time of theirs
        double most = 0;
        for (const Demand* demand : users_[resource]) {
            const double amount = part(*demand, resource);
            const auto [gate, time] = busiest_other(*demand, resource);
            if (time == 0 || amount * demand->ceiling * demand->most_at_once < amount / time) {
                most += amount * demand->ceiling * demand->most_at_once;
                continue;
            }
            const auto known =
                std::ranges::find(gates, gate, &std::pair<std::uint32_t, double>::first);
            if (known == gates.end()) {
                gates.emplace_back(gate, amount / time);
            } else {
                known->second = std::max(known->second, amount / time);
            }
        }
        for (const auto& [gate, use] : gates) most += use;
        if (most >= 1) return false;
        for (const auto& [gate, use] : gates) needed_[gate] = true;
        return true;
    }

    std::pair<std::uint32_t, double> busiest_other(const Demand& demand,
                                                   std::uint32_t resource) const {
        std::pair<std::uint32_t, double> result{0, 0};
        for (const auto& [other, amount] : demand.uses) {
            const double time = amount / capacities_[other];
            if (other != resource && limits_[other] && time > result.second) {
                result = {other, time};
            }
        }
        return result;
    }

    const std::vector<double>& capacities_;
    const std::vector<Demand>& demands_;
    std::vector<std::vector<const Demand*>> users_;  ///< of each resource
    std::vector<bool> limits_;
    std::vector<bool> needed_;  ///< others were left out because of it
};

}  // namespace

std::vector<bool> find_limits(const std::vector<double>& capacities,
                              const std::vector<Demand>& demands) {
    return LimitFinder(capacities, demands).run();
}

}  // namespace rondo::simulation
