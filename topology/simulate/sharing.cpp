// Progressive filling.
#include "topology/simulate/sharing.hpp"

#include <algorithm>
#include <numeric>

namespace rondo::simulation {
namespace {

constexpr double growing = -1;
constexpr double same = 1 + 1e-6;

}  // namespace

FairSharing::FairSharing(std::vector<double> capacities)
    : capacities_(std::move(capacities)),
      left_(capacities_.size()),
      weight_(capacities_.size()),
      first_user_(capacities_.size() + 1) {}

void FairSharing::find_users(std::span<const Demand* const> transfers) {
    used_.clear();
    std::ranges::fill(first_user_, 0);
    std::ranges::fill(weight_, 0);
    for (const Demand* demand : transfers) {
        for (const auto& [resource, amount] : demand->uses) {
            ++first_user_[resource + 1];
            weight_[resource] += amount;
        }
    }
    for (std::uint32_t resource = 0; resource < capacities_.size(); ++resource) {
        if (first_user_[resource + 1] != 0) {
            used_.push_back(resource);
            left_[resource] = capacities_[resource];
        }
        first_user_[resource + 1] += first_user_[resource];
    }
    users_.resize(first_user_.back());
    for (auto i = static_cast<std::uint32_t>(transfers.size()); i-- > 0;) {
        // Filled from behind, so that first_user_[r + 1] moves down to where r's users begin.
        for (const auto& [resource, amount] : transfers[i]->uses) {
            users_[--first_user_[resource + 1]] = i;
        }
    }
}

void FairSharing::settle(std::span<const Demand* const> transfers, std::uint32_t transfer,
                         double rate) {
    rates_[transfer] = rate;
    for (const auto& [resource, amount] : transfers[transfer]->uses) {
        left_[resource] -= amount * rate;
        weight_[resource] -= amount;
    }
}

const std::vector<double>& FairSharing::rates(std::span<const Demand* const> transfers) {
    find_users(transfers);
    rates_.assign(transfers.size(), growing);
    by_ceiling_.resize(transfers.size());
    std::iota(by_ceiling_.begin(), by_ceiling_.end(), 0u);
    std::ranges::sort(by_ceiling_, {}, [&](std::uint32_t i) { return transfers[i]->ceiling; });
    std::size_t next = 0;
    while (true) {
        while (next < by_ceiling_.size() && rates_[by_ceiling_[next]] != growing) ++next;
        if (next == by_ceiling_.size()) return rates_;
        double level = transfers[by_ceiling_[next]]->ceiling;
        // What is full, or used by none that grows, is dropped.
        std::size_t kept = 0;
        for (const std::uint32_t resource : used_) {
            if (weight_[resource] <= 1e-9) continue;
            used_[kept++] = resource;
            level = std::min(level, std::max(left_[resource], 0.0) / weight_[resource]);
        }
        used_.resize(kept);
        for (const std::uint32_t resource : used_) {
            if (weight_[resource] <= 1e-9 ||
                std::max(left_[resource], 0.0) > level * same * weight_[resource]) {
                continue;
            }
            const std::uint32_t end = resource + 2 < first_user_.size()
                                          ? first_user_[resource + 2]
                                          : static_cast<std::uint32_t>(users_.size());
            for (std::uint32_t i = first_user_[resource + 1]; i < end; ++i) {
                if (rates_[users_[i]] == growing) settle(transfers, users_[i], level);
            }
        }
        while (next < by_ceiling_.size() && transfers[by_ceiling_[next]]->ceiling <= level * same) {
            if (rates_[by_ceiling_[next]] == growing) {
                settle(transfers, by_ceiling_[next], level);
            }
            ++next;
        }
    }
}

}  // namespace rondo::simulation
