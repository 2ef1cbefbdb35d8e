// The linear program of column generation: weights for known trees, as much as the capacities
// allow.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace rondo::forest {

/// How often a tree uses a resource.
struct Load {
    int resource = 0;
    int count = 0;

    bool operator==(const Load&) const = default;
    auto operator<=>(const Load&) const = default;
};

/// Maximise the sum of the trees' weights while no resource is used beyond its capacity. In
/// floating point: basis() is what an exact solution is computed from.
class Master {
public:
    /// Whether this build has a solver. Without one, nothing else may be called.
    static bool available();

    explicit Master(const std::vector<double>& capacities);
    ~Master();
    Master(Master&&) noexcept;
    Master& operator=(Master&&) noexcept;

    void add_tree(const std::vector<Load>& loads);
    void solve();
    double value() const;
    /// What a little more of each resource is worth; 0 for those that are not used up.
    std::vector<double> prices() const;

    struct Basis {
        std::vector<int> trees;      ///< those that may have a weight
        std::vector<int> resources;  ///< as many: those that are used up
    };
    Basis basis() const;

private:
    struct Program;
    std::unique_ptr<Program> program_;
};

}  // namespace rondo::forest
