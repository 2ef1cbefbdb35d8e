// Device code that works on parameters and gradients as flat arrays: optimisers, the proximal term
// of FedProx, and half-precision gradients for the wire.
#pragma once

#include "training/kernels/bodies.hpp"

namespace rondo::training::kernels {

/// PyTorch's SGD: m = momentum * m + g, p -= rate * m; m is 0 at first.
struct SgdStep {
    float* parameters;
    const float* gradients;
    float* velocity;  ///< null without momentum
    std::uint64_t count;
    float rate, momentum, weight_decay;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 2 * count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        float step = gradients[i] + weight_decay * parameters[i];
        if (velocity != nullptr) {
            step += momentum * velocity[i];
            velocity[i] = step;
        }
        parameters[i] -= rate * step;
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(parameters, count, true);
        visit(gradients, count, false);
        if (velocity != nullptr) visit(velocity, count, true);
    }
};

/// PyTorch's Adam. The corrections are 1 - beta1^t and sqrt(1 - beta2^t); the complements are
/// 1 - beta1 and 1 - beta2, which a float's beta would have in a few digits only.
struct AdamStep {
    float* parameters;
    const float* gradients;
    float* mean;
    float* square;
    std::uint64_t count;
    float rate, beta1, beta2, epsilon, weight_decay;
    float mean_complement, square_complement;
    float mean_correction, square_correction;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 8 * count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        const float g = gradients[i] + weight_decay * parameters[i];
        mean[i] = beta1 * mean[i] + mean_complement * g;
        square[i] = beta2 * square[i] + square_complement * g * g;
        const float size = sqrtf(square[i]) / square_correction + epsilon;
        parameters[i] -= rate / mean_correction * (mean[i] / size);
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(parameters, count, true);
        visit(gradients, count, false);
        visit(mean, count, true);
        visit(square, count, true);
    }
};

/// gradients += mu * (parameters - anchor)
struct ProximalTerm {
    float* gradients;
    const float* parameters;
    const float* anchor;
    std::uint64_t count;
    float mu;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        gradients[i] += mu * (parameters[i] - anchor[i]);
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(gradients, count, true);
        visit(parameters, count, false);
        visit(anchor, count, false);
    }
};

template <class Half>
RONDO_TRAINING_DEVICE Half to_half(float value);
template <>
RONDO_TRAINING_DEVICE __half to_half<__half>(float value) {
    return __float2half_rn(value);
}
template <>
RONDO_TRAINING_DEVICE __nv_bfloat16 to_half<__nv_bfloat16>(float value) {
    return __float2bfloat16_rn(value);
}
RONDO_TRAINING_DEVICE float from_half(__half value) {
    return __half2float(value);
}
RONDO_TRAINING_DEVICE float from_half(__nv_bfloat16 value) {
    return __bfloat162float(value);
}

/// Scaled before it is rounded, so that the sum of many stays in range.
template <class Half>
struct Compress {
    const float* source;
    Half* target;
    std::uint64_t count;
    float factor;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 4 * count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        target[i] = to_half<Half>(source[i] * factor);
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(source, count, false);
        visit(target, count, true);
    }
};

template <class Half>
struct Expand {
    const Half* source;
    float* target;
    std::uint64_t count;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 4 * count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        target[i] = from_half(source[i]);
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(source, count, false);
        visit(target, count, true);
    }
};

}  // namespace rondo::training::kernels
