// The linear program of column generation, solved by COIN-OR CLP.
#include <ClpSimplex.hpp>
#include <algorithm>
#include <vector>

#include "topology/forest/master.hpp"

namespace rondo::forest {

struct Master::Program {
    ClpSimplex simplex;
    /// Columns for the next solve(); adding them one by one would copy the matrix each time.
    std::vector<CoinBigIndex> starts{0};
    std::vector<int> rows;
    std::vector<double> counts;

    void add_waiting() {
        const int columns = static_cast<int>(starts.size()) - 1;
        const std::vector<double> ones(columns, 1);
        simplex.addColumns(columns, nullptr, nullptr, ones.data(), starts.data(), rows.data(),
                           counts.data());
        starts.assign(1, 0);
        rows.clear();
        counts.clear();
    }
};

bool Master::available() {
    return true;
}

Master::Master(const std::vector<double>& capacities) : program_(std::make_unique<Program>()) {
    ClpSimplex& simplex = program_->simplex;
    simplex.setLogLevel(0);
    simplex.setOptimizationDirection(-1);
    simplex.scaling(0);
    simplex.setPerturbation(50);  // many trees tie; without it the simplex method stalls
    simplex.setPrimalTolerance(1e-11);
    simplex.setDualTolerance(1e-10);
    simplex.resize(static_cast<int>(capacities.size()), 0);
    for (std::size_t row = 0; row < capacities.size(); ++row) {
        simplex.setRowBounds(static_cast<int>(row), -COIN_DBL_MAX, capacities[row]);
    }
}

Master::~Master() = default;
Master::Master(Master&&) noexcept = default;
Master& Master::operator=(Master&&) noexcept = default;

void Master::add_tree(const std::vector<Load>& loads) {
    for (const Load& load : loads) {
        program_->rows.push_back(load.resource);
        program_->counts.push_back(load.count);
    }
    program_->starts.push_back(static_cast<CoinBigIndex>(program_->rows.size()));
}

void Master::solve() {
    program_->add_waiting();
    program_->simplex.primal();
}

double Master::value() const {
    return program_->simplex.objectiveValue();
}

std::vector<double> Master::prices() const {
    const ClpSimplex& simplex = program_->simplex;
    const double* dual = simplex.dualRowSolution();
    std::vector<double> prices(dual, dual + simplex.numberRows());
    for (double& price : prices) price = std::max(0.0, price);
    return prices;
}

Master::Basis Master::basis() const {
    const ClpSimplex& simplex = program_->simplex;
    Basis basis;
    for (int tree = 0; tree < simplex.numberColumns(); ++tree) {
        if (simplex.getColumnStatus(tree) == ClpSimplex::basic) basis.trees.push_back(tree);
    }
    for (int row = 0; row < simplex.numberRows(); ++row) {
        if (simplex.getRowStatus(row) != ClpSimplex::basic) basis.resources.push_back(row);
    }
    return basis;
}

}  // namespace rondo::forest
