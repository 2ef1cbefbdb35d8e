// How gradients change parameters. The arithmetic is PyTorch's.
//
//     TrainingOptions options{.optimizer = Adam{.learning_rate = 1e-3}};
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "rondo/export.hpp"

namespace rondo::training {

/// g += weight_decay * p;  m = momentum * m + g;  p -= learning_rate * m.
struct Sgd {
    double learning_rate = 0.1;
    double momentum = 0;
    double weight_decay = 0;

    bool operator==(const Sgd&) const = default;
};

/// With bias correction; weight decay is added to the gradient.
struct Adam {
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;

    bool operator==(const Adam&) const = default;
};

using OptimizerSettings = std::variant<Sgd, Adam>;

/// Throws InvalidArgument that names the number which is wrong.
RONDO_API void validate(const OptimizerSettings& settings);
/// "sgd(learning_rate 0.1, momentum 0.9)"
RONDO_API std::string to_string(const OptimizerSettings& settings);
/// "sgd" or "adam" with settings behind it: "sgd:lr=0.1,momentum=0.9,weight_decay=1e-4". Throws
/// InvalidArgument that names what is not understood.
RONDO_API OptimizerSettings parse_optimizer(std::string_view text);

}  // namespace rondo::training
