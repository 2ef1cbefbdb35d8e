// Maximum flow on small graphs whose capacities change from call to call while the arcs stay.
#pragma once

#include <vector>

#include "topology/forest/network.hpp"

namespace rondo::forest {

/// Dinic's algorithm. A call of run() costs no allocation.
class MaxFlow {
public:
    explicit MaxFlow(int vertices);

    /// Returns the number of the arc. An arc and its opposite may both have capacity.
    int add_arc(int from, int to, Units capacity = 0, Units opposite = 0);
    void set(int arc, Units capacity, Units opposite = 0) {
        capacity_[2 * arc] = capacity;
        capacity_[2 * arc + 1] = opposite;
    }
    /// Flow from source to sink, at most `enough`: the search ends as soon as that much was found.
    Units run(int source, int sink, Units enough);
    /// What the last run() sent over an arc that has no capacity in the opposite direction.
    Units flow_on(int arc) const { return capacity_[2 * arc] - residual_[2 * arc]; }
    /// After a run() that found less than enough: the vertices that the source can still reach, a
    /// minimum cut.
    bool on_source_side(int vertex) const { return level_[vertex] >= 0; }
    /// The same cut nearest to the sink: whether the sink can't be reached from the vertex any
    /// more.
    std::vector<bool> far_source_side(int sink) const;

private:
    void index_arcs();
    bool find_levels(int source, int sink);
    Units push(int vertex, int sink, Units limit);

    int vertices_;
    bool indexed_ = false;
    std::vector<int> head_;  ///< of half arc 2 * arc and of its opposite 2 * arc + 1
    std::vector<Units> capacity_;
    std::vector<Units> residual_;
    std::vector<int> first_;  ///< per vertex: where its half arcs begin in leaving_
    std::vector<int> leaving_;
    std::vector<int> level_;
    std::vector<int> next_;
    std::vector<int> queue_;
};

}  // namespace rondo::forest
