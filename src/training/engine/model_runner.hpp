// A whole model on one device; a batch is cut into parts whose gradients are added up.
#pragma once

#include "training/engine/batches.hpp"
#include "training/engine/runner.hpp"

namespace rondo::training {

class ModelRunner final : public StepRunner {
public:
    ModelRunner(const Model& model, const DataSource& data, StreamRef stream,
                std::size_t max_samples, std::uint32_t parts)
        : stream_(stream),
          parts_(parts),
          instance_(model.instantiate(stream.device().value(), data, part_rows(max_samples))),
          uploader_(stream, data, parts, part_rows(max_samples)) {}

    void run(const StepWork& work) override {
        for (std::uint32_t m = 0; m < parts_; ++m) {
            GradientRequest request{
                .batch = uploader_.upload(m, micro_batch(work.samples, parts_, m)),
                .parameters = work.parameters,
                .gradients = work.gradients,
                .scale = work.scale,
                .accumulate = m > 0,
                .statistics = work.statistics,
                .stream = stream_.get()};
            if (m + 1 == parts_) request.ready = work.ready;
            instance_->loss_and_gradient(request);
        }
    }

private:
    std::size_t part_rows(std::size_t samples) const { return samples / parts_ + 1; }

    StreamRef stream_;
    std::uint32_t parts_;
    std::unique_ptr<ModelInstance> instance_;
    BatchUploader uploader_;
};

}  // namespace rondo::training
