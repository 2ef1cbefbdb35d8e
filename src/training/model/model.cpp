// Instances of models: graphs on one device, and plain host code behind the same interface.
#include "rondo/training/model.hpp"

#include <algorithm>

#include "cuda/buffer.hpp"
#include "cuda/check.hpp"
#include "cuda/copy.hpp"
#include "cuda/device_guard.hpp"
#include "training/model/graph_model.hpp"
#include "training/model/graph_stage.hpp"

namespace rondo::training {
namespace {

static_assert(sizeof(BatchStatistics) == sizeof(kernels::RowResult));

class GraphInstance final : public ModelInstance {
public:
    GraphInstance(const GraphPlan& plan, int device, std::size_t max_samples)
        : plan_(plan), device_(device), max_samples_(max_samples) {}

    void loss_and_gradient(const GradientRequest& request) override {
        GraphStage& stage = prepare(request.batch, request.parameters, request.stream);
        stage.bind(request.parameters, request.gradients);
        stage.forward(0, 0, plan_.nodes.size());
        stage.loss(0, request.batch.targets, request.scale,
                   reinterpret_cast<kernels::RowResult*>(request.statistics));
        stage.backward(0, 0, plan_.nodes.size(), request.accumulate, request.ready);
    }

    void evaluate(const Batch& batch, const float* parameters, BatchStatistics* statistics,
                  cudaStream_t stream) override {
        GraphStage& stage = prepare(batch, parameters, stream);
        stage.bind(parameters, nullptr);
        stage.forward(0, 0, plan_.nodes.size());
        stage.loss(0, batch.targets, std::nullopt,
                   reinterpret_cast<kernels::RowResult*>(statistics));
    }

private:
    /// One stage, made for the stream that is used first; another stream gets a new one.
    GraphStage& prepare(const Batch& batch, const float*, cudaStream_t stream) {
        if (!stage_ || stream_ != stream) {
            stage_.emplace(plan_, StreamRef(DeviceId(device_), stream),
                           GraphStageOptions{.owned = std::vector<bool>(plan_.nodes.size(), true),
                                             .offsets = plan_.offsets,
                                             .max_rows = max_samples_});
            stream_ = stream;
        }
        stage_->begin(0, batch.samples.size(), batch.features);
        return *stage_;
    }

    const GraphPlan& plan_;
    int device_;
    std::size_t max_samples_;
    std::optional<GraphStage> stage_;
    cudaStream_t stream_ = nullptr;
};

/// Copies parameters down and gradients up around a call of host code.
class HostInstance final : public ModelInstance {
public:
    HostInstance(const HostModel& model, int device)
        : model_(model),
          device_(device),
          infos_(model.parameters()),
          parameters_(parameter_count(infos_)),
          gradient_(parameters_.size()),
          sum_(parameters_.size()) {}

    void loss_and_gradient(const GradientRequest& request) override {
        const StreamRef stream(device_, request.stream);
        const std::size_t samples = request.batch.samples.size();
        fetch(stream, request.parameters);
        double loss = 0;
        std::ranges::fill(gradient_, 0.0f);
        if (samples > 0) {
            loss = model_.loss_and_gradient(parameters_, request.batch.samples, gradient_);
        }
        const float factor = request.scale * static_cast<float>(samples);
        for (float& value : gradient_) value *= factor;
        const DeviceSpan<float> target(device_, request.gradients, gradient_.size());
        if (request.accumulate) {
            copy(stream, std::span(sum_), DeviceSpan<const float>(target));
            stream.synchronize();
            for (std::size_t i = 0; i < sum_.size(); ++i) gradient_[i] += sum_[i];
        }
        copy(stream, target, std::span<const float>(gradient_));
        add(stream, request.statistics, loss * static_cast<double>(samples), 0);
        for (std::size_t p = infos_.size(); p-- > 0 && request.ready;) request.ready(p);
    }

    void evaluate(const Batch& batch, const float* parameters, BatchStatistics* statistics,
                  cudaStream_t handle) override {
        if (batch.samples.empty()) return;
        const StreamRef stream(device_, handle);
        fetch(stream, parameters);
        const Evaluation result = model_.evaluate(parameters_, batch.samples);
        const double samples = static_cast<double>(batch.samples.size());
        add(stream, statistics, result.loss * samples, result.accuracy * samples);
    }

private:
    void fetch(StreamRef stream, const float* parameters) {
        copy(stream, std::span(parameters_),
             DeviceSpan<const float>(device_, parameters, parameters_.size()));
        stream.synchronize();
    }
    /// Blocks: the caller's host code did so already.
    void add(StreamRef stream, BatchStatistics* statistics, double loss, double correct) {
        const DeviceSpan<BatchStatistics> span(device_, statistics, 1);
        BatchStatistics sum;
        copy(stream, std::span(&sum, 1), DeviceSpan<const BatchStatistics>(span));
        stream.synchronize();
        sum.loss += loss;
        sum.correct += correct;
        copy(stream, span, std::span<const BatchStatistics>(&sum, 1));
        stream.synchronize();
    }

    const HostModel& model_;
    DeviceId device_;
    std::vector<ParameterInfo> infos_;
    std::vector<float> parameters_;
    std::vector<float> gradient_;
    std::vector<float> sum_;
};

}  // namespace

ModelInstance::~ModelInstance() = default;
Model::~Model() = default;

void Model::initialize(std::span<float> parameters, std::uint64_t) const {
    std::ranges::fill(parameters, 0.0f);
}

std::unique_ptr<ModelInstance> HostModel::instantiate(int device, const DataSource&,
                                                      std::size_t) const {
    return std::make_unique<HostInstance>(*this, device);
}

std::unique_ptr<ModelInstance> GraphModel::instantiate(int device, const DataSource&,
                                                       std::size_t max_samples) const {
    return std::make_unique<GraphInstance>(plan_, device, max_samples);
}

std::size_t parameter_count(std::span<const ParameterInfo> parameters) {
    std::size_t count = 0;
    for (const ParameterInfo& parameter : parameters) count += parameter.size;
    return count;
}

}  // namespace rondo::training
