// See the header.
#include "training/engine/trainee.hpp"

#include <fmt/format.h>

#include "training/kernels/launch.hpp"

namespace rondo::training {

Trainee::Trainee(const Model& model, const DataSource& data, int device,
                 const TrainingOptions& options)
    : model_(model),
      options_(options),
      device_(device),
      stream_(DeviceId(device)),
      instance_(model.instantiate(device, data, options.batch_size)),
      uploader_(stream_, data, 1, options.batch_size),
      parameters_(DeviceId(device), rondo::training::parameter_count(model.parameters())),
      start_(DeviceId(device), parameters_.size()),
      gradients_(DeviceId(device), parameters_.size()),
      statistics_(DeviceId(device), 1) {
    optimizer_.emplace(stream_, options.optimizer, parameters_.size());
    fill_bytes(stream_, gradients_.span(), std::byte{0});
    std::vector<float> initial(parameters_.size());
    model.initialize(initial, options.seed);
    set_parameters(initial);
}

std::vector<float> Trainee::parameters() const {
    std::vector<float> values(parameters_.size());
    copy(stream_, std::span(values), DeviceSpan<const float>(parameters_.span()));
    stream_.synchronize();
    return values;
}

void Trainee::set_parameters(std::span<const float> parameters) {
    if (parameters.size() != parameters_.size()) {
        throw InvalidArgument(fmt::format("{} parameters were given to a model that has {}",
                                          parameters.size(), parameters_.size()));
    }
    copy(stream_, parameters_.span(), parameters);
    copy(stream_, start_.span(), parameters);
    stream_.synchronize();
}

void Trainee::reset_optimizer(const OptimizerSettings& settings) {
    stream_.synchronize();
    optimizer_.emplace(stream_, settings, parameters_.size());
}

BatchStatistics Trainee::train_step(std::span<const std::size_t> batch, double proximal) {
    fill_bytes(stream_, statistics_.span(), std::byte{0});
    instance_->loss_and_gradient({.batch = uploader_.upload(0, batch),
                                  .parameters = parameters_.data(),
                                  .gradients = gradients_.data(),
                                  .scale = 1.0f / static_cast<float>(batch.size()),
                                  .statistics = statistics_.data(),
                                  .stream = stream_.get()});
    if (proximal > 0) {
        launch(stream_, kernels::ProximalTerm{gradients_.data(), parameters_.data(), start_.data(),
                                              parameters_.size(), static_cast<float>(proximal)});
    }
    optimizer_->step(parameters_.data(), gradients_.data());
    BatchStatistics sum;
    copy(stream_, std::span(&sum, 1), DeviceSpan<const BatchStatistics>(statistics_.span()));
    stream_.synchronize();
    ++steps_;
    return sum;
}

double Trainee::train_epoch(std::span<const std::size_t> samples, const Random& random,
                            std::uint32_t max_steps, double proximal) {
    std::vector<std::size_t> order(samples.begin(), samples.end());
    Random own = random;
    if (options_.shuffle) shuffle(std::span(order), own);
    BatchStatistics all;
    std::size_t seen = 0;
    const std::size_t batches = batch_count(order.size(), options_.batch_size);
    for (std::size_t step = 0; step < batches && (max_steps == 0 || step < max_steps); ++step) {
        const auto batch = batch_of(order, options_.batch_size, step);
        const BatchStatistics part = train_step(batch, proximal);
        all.loss += part.loss;
        all.correct += part.correct;
        seen += batch.size();
    }
    const double count = static_cast<double>(std::max<std::size_t>(seen, 1));
    accuracy_ = all.correct / count;
    return all.loss / count;
}

Evaluation Trainee::evaluate(const DataSource& data) {
    stream_.synchronize();
    return Evaluator(model_, data, device_).evaluate_on_device(parameters_.data());
}

}  // namespace rondo::training
