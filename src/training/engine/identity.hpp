// What a run is: everything that changes its result, but for how long it goes on. A checkpoint says
// it, and only the same run may go on from there.
#pragma once

#include <string>

#include "training/engine/coordinators.hpp"

namespace rondo::training {

/// One fact per line. Reads all samples where the run writes or reads a checkpoint.
std::string run_identity(const TrainingJob& job);

/// The lines that only one of two identities has, for people.
std::string describe_difference(const std::string& file, const std::string& run);

}  // namespace rondo::training
