// Loss and accuracy of parameters on a whole data source, on one device.
#pragma once

#include "training/engine/batches.hpp"

namespace rondo::training {

class Evaluator {
public:
    Evaluator(const Model& model, const DataSource& data, int device)
        : data_(data),
          stream_(DeviceId(device)),
          instance_(model.instantiate(device, data, rows)),
          uploader_(stream_, data, 1, rows),
          statistics_(DeviceId(device), 1),
          parameters_(DeviceId(device), parameter_count(model.parameters())) {}

    Evaluation evaluate(std::span<const float> parameters) {
        copy(stream_, parameters_.span(), parameters);
        return evaluate_on_device(parameters_.data());
    }
    /// Parameters that are on the device, and complete.
    Evaluation evaluate_on_device(const float* parameters) {
        fill_bytes(stream_, statistics_.span(), std::byte{0});
        std::vector<std::size_t> indices;
        for (std::size_t first = 0; first < data_.size(); first += rows) {
            indices.clear();
            for (std::size_t i = first; i < std::min(data_.size(), first + rows); ++i) {
                indices.push_back(i);
            }
            const Batch batch = uploader_.upload(0, indices);
            instance_->evaluate(batch, parameters, statistics_.data(), stream_.get());
            stream_.synchronize();
        }
        BatchStatistics sum;
        copy(stream_, std::span(&sum, 1), DeviceSpan<const BatchStatistics>(statistics_.span()));
        stream_.synchronize();
        const double samples = static_cast<double>(std::max<std::size_t>(data_.size(), 1));
        return {sum.loss / samples, sum.correct / samples, data_.size()};
    }

private:
    static constexpr std::size_t rows = 256;

    const DataSource& data_;
    Stream stream_;
    std::unique_ptr<ModelInstance> instance_;
    BatchUploader uploader_;
    DeviceBuffer<BatchStatistics> statistics_;
    DeviceBuffer<float> parameters_;
};

}  // namespace rondo::training
