// Replaces all relays by arcs between terminals, exactly: no cut that matters gets smaller.
#include "topology/forest/relay_removal.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "topology/forest/max_flow.hpp"

namespace rondo::forest {
namespace {

class RelayRemoval {
public:
    explicit RelayRemoval(const Packing& packing)
        : packing_(packing),
          network_(*packing.network),
          arcs_(packing),
          source_(network_.vertices),
          sink_(source_ + 1),
          flow_(network_.vertices + 2),
          infinite_(2 * packing.total) {
        for (const Units capacity : packing.capacity) infinite_ += capacity;
        for (int vertex = 0; vertex < network_.vertices; ++vertex) {
            source_arcs_.push_back(flow_.add_arc(source_, vertex, offer(vertex)));
            sink_arcs_.push_back(flow_.add_arc(vertex, sink_));
        }
    }

    ArcSet run() {
        for (int relay = network_.terminals; relay < network_.vertices; ++relay) remove(relay);
        return std::move(arcs_);
    }

private:
    Units offer(int vertex) const {
        return vertex < network_.terminals ? packing_.roots[vertex] : 0;
    }

    /// All vertices with capacity to the relay or from it.
    std::vector<int> neighbours(int relay, bool into) const {
        std::vector<int> result;
        for (const ArcSet::Arc& arc : arcs_.arcs()) {
            if ((into ? arc.to : arc.from) != relay || arc.capacity == 0) continue;
            result.push_back(into ? arc.from : arc.to);
        }
        return result;
    }

    void remove(int relay) {
        for (const int from : neighbours(relay, true)) {
            for (const bool turn_back : {false, true}) {
                for (const int to : neighbours(relay, false)) {
                    if ((from == to) == turn_back) split(from, relay, to);
                }
            }
            if (arcs_.capacity(from, relay) > 0) {
                throw std::logic_error("a relay of the forest could not be removed");
            }
        }
    }

    void split(int from, int relay, int to) {
        Units amount = std::min(arcs_.capacity(from, relay), arcs_.capacity(relay, to));
        if (amount > 0) amount = std::min(amount, room(from, relay, to, amount));
        if (amount <= 0) return;
        std::vector<ArcPiece> heads = arcs_.take(arcs_.find(from, relay), amount);
        std::vector<ArcPiece> tails = arcs_.take(arcs_.find(relay, to), amount);
        while (from != to && !heads.empty()) join(from, to, heads, tails);
    }

    void join(int from, int to, std::vector<ArcPiece>& heads, std::vector<ArcPiece>& tails) {
        ArcPiece piece{std::min(heads.back().amount, tails.back().amount), heads.back().path};
        piece.path.insert(piece.path.end(), tails.back().path.begin(), tails.back().path.end());
        for (std::vector<ArcPiece>* side : {&heads, &tails}) {
            side->back().amount -= piece.amount;
            if (side->back().amount == 0) side->pop_back();
        }
        arcs_.put(from, to, std::move(piece));
    }

    /// How much can be split off before a cut around some terminal gets too small, at most `limit`.
    Units room(int from, int relay, int to, Units limit) {
        load_arcs();
        for (int terminal = 0; terminal < network_.terminals && limit > 0; ++terminal) {
            if (terminal != from && terminal != to) {
                limit = std::min(limit, slack({from, to}, {relay, terminal}, limit));
            }
            if (limit > 0) limit = std::min(limit, slack({relay}, {from, to, terminal}, limit));
        }
        return limit;
    }

    void load_arcs() {
        const auto& arcs = arcs_.arcs();
        for (std::size_t number = 0; number < arcs.size(); ++number) {
            if (number == arc_numbers_.size()) {
                arc_numbers_.push_back(flow_.add_arc(arcs[number].from, arcs[number].to));
            }
            flow_.set(arc_numbers_[number], arcs[number].capacity);
        }
    }

    /// Smallest cut with the given vertices outside and inside, beyond the weight that has to cross
    /// it.
    Units slack(const std::vector<int>& outside, const std::vector<int>& inside, Units limit) {
        for (const int vertex : outside) flow_.set(source_arcs_[vertex], infinite_);
        for (const int vertex : inside) flow_.set(sink_arcs_[vertex], infinite_);
        const Units cut = flow_.run(source_, sink_, packing_.total + limit);
        for (const int vertex : outside) flow_.set(source_arcs_[vertex], offer(vertex));
        for (const int vertex : inside) flow_.set(sink_arcs_[vertex], 0);
        return cut - packing_.total;
    }

    const Packing& packing_;
    const Network& network_;
    ArcSet arcs_;
    int source_;
    int sink_;
    MaxFlow flow_;
    Units infinite_;
    std::vector<int> source_arcs_;
    std::vector<int> sink_arcs_;
    std::vector<int> arc_numbers_;
};

}  // namespace

ArcSet remove_relays(const Packing& packing) {
    return RelayRemoval(packing).run();
}

}  // namespace rondo::forest
