// Which clients take part in a round.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "rondo/training/strategy.hpp"
#include "training/data/random.hpp"

namespace rondo::training {

struct SelectClients {
    std::size_t clients;
    std::uint64_t round;

    std::vector<std::size_t> operator()(const SelectAll&) const {
        std::vector<std::size_t> all(clients);
        std::iota(all.begin(), all.end(), std::size_t{0});
        return all;
    }
    std::vector<std::size_t> operator()(const SelectRandom& selection) const {
        const auto share =
            static_cast<std::size_t>(selection.fraction * static_cast<double>(clients));
        std::vector<std::size_t> drawn =
            permutation(clients, Random(selection.seed, 0x5e1ec7, round));
        drawn.resize(std::max<std::size_t>(share, selection.minimum));
        std::ranges::sort(drawn);
        return drawn;
    }
    std::vector<std::size_t> operator()(const SelectRoundRobin& selection) const {
        std::vector<std::size_t> next;
        for (std::uint64_t i = 0; i < selection.clients_per_round; ++i) {
            next.push_back((round * selection.clients_per_round + i) % clients);
        }
        std::ranges::sort(next);
        return next;
    }
};

/// In ascending order; the same for the same round.
inline std::vector<std::size_t> select_clients(const Federated& strategy, std::uint64_t round) {
    return std::visit(SelectClients{strategy.num_clients, round}, strategy.client_selection);
}

}  // namespace rondo::training
