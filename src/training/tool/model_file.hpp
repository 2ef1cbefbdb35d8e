// What was learned, as JSON, so that other programs can use it.
#pragma once

#include <string>

#include "rondo/training/data.hpp"
#include "rondo/training/train.hpp"

namespace rondo::training::tool {

/// How numbers to learn were scaled: large ones would make the steps too large.
struct TargetScaling {
    double mean = 0;
    double deviation = 1;
};

/// How samples became what the model sees. Empty features: as they are in the file.
struct Preparation {
    Scaling features = {};
    TargetScaling target = {};
};

/// Parameters by name, classes, and how features and targets were scaled. docs/training.md has the
/// fields.
std::string model_json(const TrainingReport& report, const Table& data,
                       const Preparation& preparation);

}  // namespace rondo::training::tool
