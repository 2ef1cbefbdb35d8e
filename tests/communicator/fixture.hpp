// What the suites about single behaviours share: tensors with host copies, and the text of errors.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "rondo/communicator.hpp"

namespace rondo::test {

inline void expect_success(cudaError_t status) {
    ASSERT_EQ(status, cudaSuccess) << cudaGetErrorString(status);
}

inline CommunicatorOptions options_of(int ranks,
                                      std::chrono::nanoseconds timeout = std::chrono::seconds(60)) {
    CommunicatorOptions options{.timeout = timeout};
    for (int device = 0; device < ranks; ++device) options.devices.push_back(device);
    return options;
}

inline Tensor<float> tensor_on(int device, const std::vector<float>& values) {
    Tensor<float> tensor = Tensor<float>::allocate(device, values.size());
    expect_success(
        cudaMemcpy(tensor.data(), values.data(), values.size() * sizeof(float), cudaMemcpyDefault));
    return tensor;
}

template <class T>
std::vector<T> values_of(const Tensor<T>& tensor) {
    std::vector<T> values(tensor.size());
    expect_success(cudaSetDevice(tensor.device()));  // behind what its default stream does
    expect_success(
        cudaMemcpy(values.data(), tensor.data(), values.size() * sizeof(T), cudaMemcpyDefault));
    return values;
}

/// Replica r holds start + r, start + r + 1, ...
inline PerReplica<float> ramp(int ranks, std::size_t count, float start = 1) {
    std::vector<Tensor<float>> tensors;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = start + static_cast<float>(rank) + static_cast<float>(i % 1000);
        }
        tensors.push_back(tensor_on(rank, values));
    }
    return PerReplica<float>(std::move(tensors));
}

/// The element-wise sum of all replicas.
inline std::vector<float> sum_of(const PerReplica<float>& value) {
    std::vector<float> sum(value[0].size());
    for (const Tensor<float>& tensor : value) {
        const std::vector<float> own = values_of(tensor);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
    }
    return sum;
}

/// The text of the Expected that `call` throws; anything else is a failure.
template <class Expected, class Call>
std::string error_of(Call call) {
    try {
        call();
    } catch (const Expected& error) {
        return error.what();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "another error: " << error.what();
        return "";
    }
    ADD_FAILURE() << "no error";
    return "";
}

}  // namespace rondo::test
