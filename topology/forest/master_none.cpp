// Stands in for the solver of column generation in builds that have none.
#include <stdexcept>

#include "topology/forest/master.hpp"

namespace rondo::forest {

struct Master::Program {};

bool Master::available() {
    return false;
}

Master::Master(const std::vector<double>&) {
    throw std::logic_error("this build has no solver for linear programs (COIN-OR CLP)");
}

Master::~Master() = default;
Master::Master(Master&&) noexcept = default;
Master& Master::operator=(Master&&) noexcept = default;
void Master::add_tree(const std::vector<Load>&) {}
void Master::solve() {}
double Master::value() const {
    return 0;
}
std::vector<double> Master::prices() const {
    return {};
}
Master::Basis Master::basis() const {
    return {};
}

}  // namespace rondo::forest
