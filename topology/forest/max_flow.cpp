// Maximum flow on small graphs whose capacities change from call to call while the arcs stay.
#include "topology/forest/max_flow.hpp"

#include <algorithm>

namespace rondo::forest {

MaxFlow::MaxFlow(int vertices)
    : vertices_(vertices), level_(vertices), next_(vertices), queue_(vertices) {}

int MaxFlow::add_arc(int from, int to, Units capacity, Units opposite) {
    head_.push_back(to);
    head_.push_back(from);
    capacity_.push_back(capacity);
    capacity_.push_back(opposite);
    indexed_ = false;
    return static_cast<int>(head_.size() / 2) - 1;
}

void MaxFlow::index_arcs() {
    first_.assign(vertices_ + 1, 0);
    const int half_arcs = static_cast<int>(head_.size());
    for (int half = 0; half < half_arcs; ++half) ++first_[head_[half ^ 1] + 1];
    for (int vertex = 0; vertex < vertices_; ++vertex) first_[vertex + 1] += first_[vertex];
    leaving_.resize(half_arcs);
    std::vector<int> place(first_.begin(), first_.end() - 1);
    for (int half = 0; half < half_arcs; ++half) leaving_[place[head_[half ^ 1]]++] = half;
    indexed_ = true;
}

/// Distances from the source. Stops at the sink's level, so that all vertices are numbered when it
/// isn't reached.
bool MaxFlow::find_levels(int source, int sink) {
    std::ranges::fill(level_, -1);
    level_[source] = 0;
    queue_[0] = source;
    int filled = 1;
    for (int taken = 0; taken < filled; ++taken) {
        const int vertex = queue_[taken];
        for (int i = first_[vertex]; i < first_[vertex + 1]; ++i) {
            const int half = leaving_[i];
            const int to = head_[half];
            if (residual_[half] == 0 || level_[to] >= 0) continue;
            level_[to] = level_[vertex] + 1;
            if (to == sink) return true;
            queue_[filled++] = to;
        }
    }
    return false;
}

Units MaxFlow::push(int vertex, int sink, Units limit) {
    if (vertex == sink) return limit;
    Units pushed = 0;
    for (int& i = next_[vertex]; i < first_[vertex + 1]; ++i) {
        const int half = leaving_[i];
        const int to = head_[half];
        if (residual_[half] == 0 || level_[to] != level_[vertex] + 1) continue;
        const Units part = push(to, sink, std::min<Units>(limit - pushed, residual_[half]));
        residual_[half] -= part;
        residual_[half ^ 1] += part;
        pushed += part;
        if (pushed == limit) return pushed;
    }
    return pushed;
}

Units MaxFlow::run(int source, int sink, Units enough) {
    if (!indexed_) index_arcs();
    residual_ = capacity_;
    Units flow = 0;
    while (flow < enough && find_levels(source, sink)) {
        std::copy(first_.begin(), first_.end() - 1, next_.begin());
        flow += push(source, sink, enough - flow);
    }
    return flow;
}

std::vector<bool> MaxFlow::far_source_side(int sink) const {
    std::vector<bool> source_side(vertices_, true);
    std::vector<int> queue{sink};
    source_side[sink] = false;
    for (std::size_t taken = 0; taken < queue.size(); ++taken) {
        const int vertex = queue[taken];
        for (int i = first_[vertex]; i < first_[vertex + 1]; ++i) {
            const int half = leaving_[i];
            const int from = head_[half];
            if (residual_[half ^ 1] == 0 || !source_side[from]) continue;
            source_side[from] = false;
            queue.push_back(from);
        }
    }
    return source_side;
}

}  // namespace rondo::forest
