// See the header.
#include "training/population/evolve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::training {
namespace {

struct Exploit {
    std::span<const double> scores;
    Random& random;

    std::vector<std::uint32_t> operator()(const Truncation& strategy) const {
        std::vector<std::uint32_t> parents = themselves();
        std::vector<std::uint32_t> order = themselves();
        std::ranges::stable_sort(order, std::less<>(), [&](std::uint32_t m) { return scores[m]; });
        const std::size_t members = scores.size();
        auto cut = static_cast<std::size_t>(strategy.fraction * static_cast<double>(members));
        if (cut == 0 && strategy.fraction > 0 && members > 1) cut = 1;
        for (std::size_t i = 0; i < cut; ++i) {
            parents[order[members - 1 - i]] = order[random.below(cut)];
        }
        return parents;
    }
    std::vector<std::uint32_t> operator()(const BinaryTournament&) const {
        std::vector<std::uint32_t> parents = themselves();
        for (std::uint32_t m = 0; scores.size() > 1 && m < scores.size(); ++m) {
            auto other = static_cast<std::uint32_t>(random.below(scores.size() - 1));
            if (other >= m) ++other;
            if (scores[other] < scores[m]) parents[m] = other;
        }
        return parents;
    }

private:
    std::vector<std::uint32_t> themselves() const {
        std::vector<std::uint32_t> all(scores.size());
        std::iota(all.begin(), all.end(), 0u);
        return all;
    }
};

struct Explore {
    const Hyperparameter& range;
    double value;
    Random& random;

    double operator()(const Perturb& strategy) const { return multiply(strategy.factors); }
    double operator()(const Resample& strategy) const {
        return random.unit() < strategy.probability ? draw_setting(range, random) : value;
    }
    double operator()(const PerturbOrResample& strategy) const {
        return random.unit() < strategy.probability ? draw_setting(range, random)
                                                    : multiply(strategy.factors);
    }

private:
    double multiply(const std::vector<double>& factors) const {
        return std::clamp(value * factors[random.below(factors.size())], range.low, range.high);
    }
};

}  // namespace

double draw_setting(const Hyperparameter& hyperparameter, Random& random) {
    if (!hyperparameter.logarithmic) {
        return random.between(hyperparameter.low, hyperparameter.high);
    }
    const double value =
        std::exp(random.between(std::log(hyperparameter.low), std::log(hyperparameter.high)));
    return std::clamp(value, hyperparameter.low, hyperparameter.high);
}

std::vector<std::uint32_t> exploit(const ExploitStrategy& strategy, std::span<const double> scores,
                                   Random& random) {
    return std::visit(Exploit{scores, random}, strategy);
}

std::vector<double> explore(const ExploreStrategy& strategy,
                            std::span<const Hyperparameter> hyperparameters,
                            std::span<const double> settings, Random& random) {
    std::vector<double> changed;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        changed.push_back(std::visit(Explore{hyperparameters[i], settings[i], random}, strategy));
    }
    return changed;
}

}  // namespace rondo::training
