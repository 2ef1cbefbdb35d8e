// The one implementation of merge.hpp, for nvcc and for g++.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include "training/sync/merge.hpp"

#if defined(__CUDACC__)
#define RONDO_TRAINING_ANYWHERE __host__ __device__
#else
#define RONDO_TRAINING_ANYWHERE
#endif

namespace rondo::training {

struct AccumulateElement {
    MergeInputs inputs;
    bool continues;
    double* sums;
    RONDO_TRAINING_ANYWHERE void operator()(std::size_t i) const {
        double sum = continues ? sums[i] : 0.0;
        for (std::uint32_t w = 0; w < inputs.workers; ++w) {
            sum += inputs.weights[w] * static_cast<double>(inputs.gradients[w][i]);
        }
        sums[i] = sum;
    }
};

struct FinishElement {
    const double* sums;
    double divisor;
    float* result;
    RONDO_TRAINING_ANYWHERE void operator()(std::size_t i) const {
        result[i] = static_cast<float>(sums[i] / divisor);
    }
};

template <class Policy, class Element>
void for_each_element(const Policy& policy, std::size_t count, const Element& element) {
    thrust::for_each_n(policy, thrust::counting_iterator<std::size_t>(0), count, element);
}

void accumulate_on_device(const MergeInputs& inputs, bool continues, double* sums,
                          std::size_t count) {
    for_each_element(thrust::device, count, AccumulateElement{inputs, continues, sums});
}

void finish_on_device(const double* sums, double divisor, float* result, std::size_t count) {
    for_each_element(thrust::device, count, FinishElement{sums, divisor, result});
}

void accumulate_on_host(const MergeInputs& inputs, bool continues, double* sums,
                        std::size_t count) {
    for_each_element(thrust::host, count, AccumulateElement{inputs, continues, sums});
}

void finish_on_host(const double* sums, double divisor, float* result, std::size_t count) {
    for_each_element(thrust::host, count, FinishElement{sums, divisor, result});
}

}  // namespace rondo::training
