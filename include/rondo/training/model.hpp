// What can be trained: models as the coordinators see them. Graphs (graph.hpp) are models that ship
// with Rondo; a model of your own derives from HostModel (plain functions on the host) or from
// Model (kernels of your own).
//
//     class Line : public HostModel {
//         std::vector<ParameterInfo> parameters() const override { return {{"slope", 1}}; }
//         double loss_and_gradient(std::span<const float> parameters,
//                                  std::span<const Sample> batch,
//                                  std::span<float> gradient) const override { ... }
//         Evaluation evaluate(std::span<const float> parameters,
//                             std::span<const Sample> batch) const override { ... }
//     };
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <driver_types.h>

#include "rondo/export.hpp"
#include "rondo/training/data.hpp"
#include "rondo/training/graph.hpp"

namespace rondo::training {

/// A part of the parameters that becomes ready at once in the backward pass.
struct ParameterInfo {
    std::string name;
    std::size_t size = 0;

    bool operator==(const ParameterInfo&) const = default;
};

/// How good parameters are on some samples.
struct Evaluation {
    double loss = 0;      ///< mean over the samples
    double accuracy = 0;  ///< share of the samples that are right; 0 for regression
    std::size_t samples = 0;
};

/// A batch in both places: as samples on the host, and packed on the instance's device.
struct Batch {
    std::span<const Sample> samples = {};
    const float* features = nullptr;  ///< samples.size() rows
    const float* targets = nullptr;
};

/// Sums over samples, on the device. Coordinators set them to 0 and read them.
struct BatchStatistics {
    double loss = 0;
    double correct = 0;
};

/// What an instance is asked for. All pointers are to memory of its device.
struct GradientRequest {
    Batch batch;
    const float* parameters = nullptr;
    float* gradients = nullptr;
    float scale = 1;          ///< of the sum of the samples' gradients: 1 / samples gives the mean
    bool accumulate = false;  ///< add to the gradients instead of replacing them
    BatchStatistics* statistics = nullptr;  ///< is added to
    cudaStream_t stream = nullptr;
    /// To be called with the number of a parameter when its gradient is complete in the stream, in
    /// any order. A parameter that was not used is not named. May be empty.
    std::function<void(std::size_t)> ready = {};
};

/// A model on one device, with its scratch memory. One thread uses it at a time.
class RONDO_API ModelInstance {
public:
    virtual ~ModelInstance();
    /// Enqueues the forward and backward pass; need not wait for them.
    virtual void loss_and_gradient(const GradientRequest& request) = 0;
    /// Enqueues the forward pass and adds to the statistics.
    virtual void evaluate(const Batch& batch, const float* parameters, BatchStatistics* statistics,
                          cudaStream_t stream) = 0;
};

/// A model: what its parameters are, and how to make an instance on a device. Immutable; several
/// threads use it at once.
class RONDO_API Model {
public:
    virtual ~Model();
    /// They lie one behind the other in this order.
    virtual std::vector<ParameterInfo> parameters() const = 0;
    /// The start, drawn from the seed. By default everything is 0.
    virtual void initialize(std::span<float> parameters, std::uint64_t seed) const;
    /// For batches of up to `max_samples`. Throws InvalidArgument when the data does not fit.
    virtual std::unique_ptr<ModelInstance> instantiate(int device, const DataSource& data,
                                                       std::size_t max_samples) const = 0;
};

/// A model of plain host code: parameters are copied to the host, gradients to the device. All
/// parameters become ready together.
class RONDO_API HostModel : public Model {
public:
    /// Returns the mean loss and writes the mean gradient. The batch is not empty.
    virtual double loss_and_gradient(std::span<const float> parameters,
                                     std::span<const Sample> batch,
                                     std::span<float> gradient) const = 0;
    virtual Evaluation evaluate(std::span<const float> parameters,
                                std::span<const Sample> batch) const = 0;

    std::unique_ptr<ModelInstance> instantiate(int device, const DataSource& data,
                                               std::size_t max_samples) const override;
};

/// The number of all parameters together.
RONDO_API std::size_t parameter_count(std::span<const ParameterInfo> parameters);

}  // namespace rondo::training
