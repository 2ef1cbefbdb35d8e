// Packs trees by taking the heaviest shallow one that leaves the rest packable, again and again.
#include "topology/forest/peel.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "topology/forest/cut.hpp"
#include "topology/forest/growth.hpp"

namespace rondo::forest {
namespace {

/// A tree is taken when its weight is at least this part of what it was grown for.
constexpr int acceptable = 2;

/// So many trees may turn out to break unknown cuts before the search counts as stuck.
constexpr int most_attempts = 200;

class Peeler {
public:
    Peeler(Packing packing, unsigned seed)
        : packing_(std::move(packing)),
          oracle_(*packing_.network),
          cuts_(*packing_.network),
          growth_(packing_, cuts_),
          random_(seed) {}

    Peeled run() {
        while (packing_.total > 0 && take_one()) {
        }
        return {std::move(trees_), std::move(packing_)};
    }

private:
    bool take_one();
    std::optional<Weighted<Units>> candidate();
    Units known_limit(const PackedTree& tree) const;
    bool settle(Weighted<Units>& candidate);

    Packing packing_;
    CutOracle oracle_;
    KnownCuts cuts_;
    Growth growth_;
    std::mt19937 random_;
    std::vector<Weighted<Units>> trees_;
};

/// The weight that capacities, the root and the known cuts allow.
Units Peeler::known_limit(const PackedTree& tree) const {
    Units weight = packing_.roots[tree.root];
    const std::vector<int> loads = packing_.loads(tree);
    for (std::size_t slot = 0; slot < loads.size(); ++slot) {
        if (loads[slot] > 0) weight = std::min(weight, packing_.capacity[slot] / loads[slot]);
    }
    const std::vector<int> extra = cuts_.extra_entries(tree);
    for (std::size_t cut = 0; cut < extra.size(); ++cut) {
        if (extra[cut] > 0) weight = std::min(weight, cuts_.all()[cut].slack / extra[cut]);
    }
    return weight;
}

/// A tree for the root with the most weight left: as heavy as possible, first with a fair part of
/// every slack.
std::optional<Weighted<Units>> Peeler::candidate() {
    const auto heaviest = std::ranges::max_element(packing_.roots);
    const int root = static_cast<int>(heaviest - packing_.roots.begin());
    for (const int fairness : {2, 0}) {
        for (Units weight = *heaviest; weight > *heaviest >> 20; weight /= 2) {
            auto tree = growth_.grow(root, {.weight = weight, .fairness = fairness}, random_);
            if (!tree) continue;
            const Units limit = known_limit(*tree);
            return Weighted<Units>{std::move(*tree), limit};
        }
    }
    return std::nullopt;
}

/// Lowers the weight until the rest is packable. False: too low, but the cuts that say so are known
/// now.
bool Peeler::settle(Weighted<Units>& candidate) {
    const Units wanted = std::max<Units>(1, candidate.weight / acceptable);
    while (candidate.weight >= wanted) {
        Packing after = packing_;
        after.take(candidate.tree, candidate.weight);
        std::optional<std::vector<bool>> set = oracle_.violated(after);
        if (!set) return true;
        const Units slack = slack_of(packing_, *set);
        cuts_.add({std::move(*set), slack});
        candidate.weight = known_limit(candidate.tree);
    }
    return false;
}

bool Peeler::take_one() {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        std::optional<Weighted<Units>> next = candidate();
        if (!next) return false;
        if (!settle(*next)) continue;
        packing_.take(next->tree, next->weight);
        cuts_.take(next->tree, next->weight);
        trees_.push_back(std::move(*next));
        return true;
    }
    return false;
}

}  // namespace

Peeled peel(Packing packing, unsigned seed) {
    return Peeler(std::move(packing), seed).run();
}

}  // namespace rondo::forest
