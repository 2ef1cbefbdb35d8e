// See the header.
#include "training/engine/cell.hpp"

namespace rondo::training {

Cell::Cell(Options options)
    : options_(std::move(options)),
      stream_(DeviceId(options_.device)),
      parameters_(DeviceId(options_.device), options_.parameters.count),
      gradients_(DeviceId(options_.device), options_.parameters.count),
      statistics_(DeviceId(options_.device), 1),
      optimizer_(stream_, options_.training->optimizer, options_.parameters.count),
      clock_(options_.training->timeline, options_.number) {
    fill_bytes(stream_, gradients_.span(), std::byte{0});
    if (options_.peers != nullptr) make_syncs();
    stream_.synchronize();
}

/// One per way of aggregation that occurs.
void Cell::make_syncs() {
    std::map<GradientAggregation, std::vector<std::size_t>> groups;
    for (const std::size_t p : options_.parameters.numbers) {
        const auto& aggregation = options_.aggregations[p];
        if (aggregation && options_.live[p]) groups[*aggregation].push_back(p);
    }
    for (const auto& [aggregation, numbers] : groups) {
        std::vector<GradientSlice> slices;
        for (const std::size_t p : numbers) {
            sync_of_[p] = {syncs_.size(), slices.size()};
            slices.push_back({options_.infos[p].name, options_.parameters.local_offsets[p],
                              options_.infos[p].size});
        }
        BucketOptions buckets = options_.training->buckets;
        buckets.aggregation =
            options_.prescaled && aggregation == GradientAggregation::weighted_mean
                ? GradientAggregation::sum
                : aggregation;
        buckets.uneven_inputs = false;  // all replicas take the same steps
        buckets.order = syncs_.size() < options_.bucket_orders.size()
                            ? options_.bucket_orders[syncs_.size()]
                            : std::vector<std::size_t>();
        syncs_.emplace_back(*options_.peers, static_cast<int>(options_.replica), std::move(slices),
                            buckets);
    }
}

std::vector<std::vector<std::size_t>> Cell::bucket_orders() const {
    std::vector<std::vector<std::size_t>> orders;
    for (const CommunicatorGradientSync& sync : syncs_) {
        std::vector<std::size_t>& order = orders.emplace_back();
        for (const auto& bucket : sync.buckets()) {
            order.insert(order.end(), bucket.begin(), bucket.end());
        }
    }
    return orders;
}

float Cell::scale_of(std::size_t samples, std::size_t all_samples) const {
    return 1.0f /
           static_cast<float>(std::max<std::size_t>(options_.prescaled ? all_samples : samples, 1));
}

void Cell::step(std::span<const std::size_t> samples, std::size_t all_samples) {
    clock_.set_step(++steps_);
    fill_bytes(stream_, statistics_.span(), std::byte{0});
    auto compute = clock_.begin(stream_, "compute", "forward and backward");
    const double weight = static_cast<double>(samples.size()) /
                          static_cast<double>(std::max<std::size_t>(all_samples, 1));
    for (CommunicatorGradientSync& sync : syncs_) {
        sync.observe(clock_.timeline(), options_.number, steps_);
        sync.begin_step(gradients_.data(), stream_.get(), weight);
    }
    runner_->run({.samples = samples,
                  .scale = scale_of(samples.size(), all_samples),
                  .parameters = parameters_.data(),
                  .gradients = gradients_.data(),
                  .statistics = statistics_.data(),
                  .ready = [this](std::size_t parameter) {
                      const auto found = sync_of_.find(parameter);
                      if (found == sync_of_.end()) return;
                      syncs_[found->second.first].gradient_ready(found->second.second);
                  }});
    StreamClock::end(stream_, std::move(compute));
    auto wait = clock_.begin(stream_, "wait", "for gradients");
    for (CommunicatorGradientSync& sync : syncs_) sync.finish_step();
    StreamClock::end(stream_, std::move(wait));
    optimizer_.step(parameters_.data(), gradients_.data());
    BatchStatistics sum;
    copy(stream_, std::span(&sum, 1), DeviceSpan<const BatchStatistics>(statistics_.span()));
    runner_->finish();
    for (CommunicatorGradientSync& sync : syncs_) sync.wait();
    stream_.synchronize();
    runner_->measure();
    results_.sum.loss += sum.loss;
    results_.sum.correct += sum.correct;
    results_.samples += static_cast<double>(samples.size());
}

template <class Values>
void Cell::to_global(std::span<const float> own, Values& all) const {
    const CellParameters& owned = options_.parameters;
    for (std::size_t i = 0; i < owned.numbers.size(); ++i) {
        const std::size_t local = owned.local_offsets[owned.numbers[i]];
        std::ranges::copy(own.subspan(local, owned.sizes[i]),
                          all.begin() + static_cast<std::ptrdiff_t>(owned.global_offsets[i]));
    }
}

std::vector<float> Cell::to_local(std::span<const float> all) const {
    const CellParameters& owned = options_.parameters;
    std::vector<float> own(owned.count);
    for (std::size_t i = 0; i < owned.numbers.size(); ++i) {
        std::ranges::copy(
            all.subspan(owned.global_offsets[i], owned.sizes[i]),
            own.begin() + static_cast<std::ptrdiff_t>(owned.local_offsets[owned.numbers[i]]));
    }
    return own;
}

void Cell::store_parameters(std::span<float> all) const {
    std::vector<float> own(parameters_.size());
    copy(stream_, std::span(own), DeviceSpan<const float>(parameters_.span()));
    stream_.synchronize();
    to_global(own, all);
}

void Cell::load_parameters(std::span<const float> all) {
    const std::vector<float> own = to_local(all);
    copy(stream_, parameters_.span(), std::span<const float>(own));
    stream_.synchronize();
}

void Cell::store_state(OptimizerState& all) const {
    const OptimizerState own = optimizer_.state();
    all.steps = own.steps;
    std::size_t count = 0;
    for (const ParameterInfo& info : options_.infos) count += info.size;
    all.first.resize(count);
    to_global(own.first, all.first);
    if (std::holds_alternative<Adam>(optimizer_.settings())) {
        all.second.resize(count);
        to_global(own.second, all.second);
    }
}

void Cell::load_state(const OptimizerState& all) {
    OptimizerState own{.steps = all.steps, .first = to_local(all.first), .second = {}};
    if (std::holds_alternative<Adam>(optimizer_.settings())) own.second = to_local(all.second);
    optimizer_.set_state(own);
    steps_ = all.steps;
}

}  // namespace rondo::training
