// Launches buckets of gradients as they fill. See the header for the promises.
#include "rondo/training/communicator_sync.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "cuda/event.hpp"
#include "training/kernels/launch.hpp"
#include "training/report/stream_clock.hpp"
#include "training/sync/agreement.hpp"
#include "training/sync/buckets.hpp"
#include "training/sync/whole_arrays.hpp"
#include "training/sync/work_list.hpp"

namespace rondo::training {

class CommunicatorGradientSync::State {
public:
    State(const Communicator& communicator, int rank, std::vector<GradientSlice> parameters,
          const BucketOptions& options)
        : rank_(communicator.rank(rank)),
          workers_(static_cast<std::size_t>(communicator.size())),
          device_(rank_.device()),
          parameters_(std::move(parameters)),
          options_(options),
          // Urgent: a bucket that waits for a backward pass that fills the device hides nothing.
          stream_(device_, {.priority = std::numeric_limits<int>::min()}),
          agreement_(rank_, workers_, stream_, parameters_.size()),
          whole_arrays_(rank_, stream_, agreement_),
          computed_(device_),
          reduced_(device_) {
        check_slices(parameters_, options_);
        allocate();
        touched_.assign(parameters_.size(), false);
        used_.assign(parameters_.size(), true);
        rebuilt_ = !options_.order.empty();
        use_buckets(first_buckets(parameters_, options_));
    }

    std::size_t workers() const { return workers_; }
    const BucketList& buckets() const { return buckets_; }
    bool used(std::size_t parameter) const { return used_.at(parameter); }
    void set_synchronizing(bool on) { synchronizing_ = on; }
    void observe(Timeline* timeline, std::uint32_t worker, std::uint64_t step) {
        clock_ = StreamClock(timeline, worker);
        clock_.set_step(step);
    }

    void begin_step(float* gradients, cudaStream_t stream, double weight) {
        gradients_ = gradients;
        compute_.emplace(device_, stream);
        weight_ = weight;
        ready_.assign(parameters_.size(), false);
        next_bucket_ = 0;
        for (std::size_t b = 0; b < buckets_.size(); ++b) pending_[b] = buckets_[b].size();
        if (options_.uneven_inputs && synchronizing_) active_ = agreement_.sum_of(1);
        ++steps_;
    }

    void gradient_ready(std::size_t parameter) {
        if (parameter >= parameters_.size() || !compute_) {
            throw InvalidArgument(fmt::format("there is no parameter {} among {} in a step",
                                              parameter, parameters_.size()));
        }
        if (ready_[parameter]) {
            throw InvalidArgument(fmt::format("the gradient of '{}' was ready already in this step",
                                              parameters_[parameter].name));
        }
        touched_[parameter] = true;
        if (!synchronizing_) {
            ready_[parameter] = true;
            return;
        }
        if (!rebuilt_) order_.push_back(parameter);
        mark_ready(parameter);
    }

    void finish_step() {
        if (!compute_) throw InvalidArgument("there is no step to finish");
        if (synchronizing_) {
            add_unused();
            reduced_.record(stream_);
            compute_->wait(reduced_);
            if (options_.find_unused) exchange_usage();
            if (options_.rebuild && !rebuilt_) rebuild();
            touched_.assign(parameters_.size(), false);
        }
        compute_.reset();
    }

    void wait() { works_.wait(); }

    void join(float* parameters, std::size_t count) {
        if (!options_.uneven_inputs) {
            throw InvalidArgument("join() needs BucketOptions::uneven_inputs");
        }
        const std::uint64_t own_steps = steps_;
        while ((active_ = agreement_.sum_of(0)) > 0) {
            fill_bytes(stream_, zeros_->span(), std::byte{0});
            shadow_step(zeros_->data());
        }
        adopt_longest(own_steps, parameters, count);
    }

    void sync_gradients(std::span<float> gradients) { whole_arrays_.average(gradients); }

private:
    /// All memory that steps need: to free some between steps would let the driver wait for kernels
    /// that wait for this very worker.
    void allocate() {
        std::size_t total = 0, largest = 0;
        for (const GradientSlice& slice : parameters_) {
            total += slice.size;
            largest = std::max(largest, slice.size);
            extent_ = std::max(extent_, slice.offset + slice.size);
        }
        const std::size_t cap = std::max(options_.bucket_bytes, options_.first_bucket_bytes) / 4;
        const std::size_t widest = std::min(total, cap + largest);
        packed_.emplace(device_, widest);
        halves_.emplace(device_, options_.hook == GradientHook::plain ? 0 : widest);
        zeros_.emplace(device_, options_.uneven_inputs ? extent_ : 0);
    }

    void use_buckets(BucketList buckets) {
        buckets_ = std::move(buckets);
        layouts_.clear();
        bucket_of_.resize(parameters_.size());
        for (std::size_t b = 0; b < buckets_.size(); ++b) {
            layouts_.push_back(lay_out(buckets_[b], parameters_));
            for (const std::size_t p : buckets_[b]) bucket_of_[p] = b;
        }
        pending_.resize(buckets_.size());
    }

    void mark_ready(std::size_t parameter) {
        ready_[parameter] = true;
        --pending_[bucket_of_[parameter]];
        for (; next_bucket_ < buckets_.size() && pending_[next_bucket_] == 0; ++next_bucket_) {
            launch_bucket(next_bucket_);
        }
    }

    /// Behind what is in the compute stream now, on this object's own stream.
    void launch_bucket(std::size_t b) {
        const BucketLayout& layout = layouts_[b];
        computed_.record(*compute_);
        stream_.wait(computed_);
        auto span = clock_.begin(stream_, "sync", fmt::format("bucket {}", b));
        float* const data = layout.contiguous ? gradients_ + layout.offset : packed_->data();
        if (!layout.contiguous) move_parts(layout, data, true);
        reduce(data, layout.count);
        if (!layout.contiguous) move_parts(layout, data, false);
        StreamClock::end(stream_, std::move(span));
    }

    void move_parts(const BucketLayout& layout, float* packed, bool together) {
        for (const std::size_t p : layout.parameters) {
            const GradientSlice& slice = parameters_[p];
            const DeviceSpan<float> apart(device_, gradients_ + slice.offset, slice.size);
            const DeviceSpan<float> part(device_, packed, slice.size);
            if (together) {
                copy(stream_, part, DeviceSpan<const float>(apart));
            } else {
                copy(stream_, apart, DeviceSpan<const float>(part));
            }
            packed += slice.size;
        }
    }

    /// What this worker's gradients are multiplied by before they are summed up.
    double factor() const {
        switch (options_.aggregation) {
            case GradientAggregation::sum:
                return 1;
            case GradientAggregation::weighted_mean:
                return weight_;
            case GradientAggregation::mean:
                break;
        }
        const bool by_active = options_.uneven_inputs && !options_.divide_by_all_workers;
        return 1.0 / static_cast<double>(by_active ? std::max<std::int64_t>(active_, 1)
                                                   : static_cast<std::int64_t>(workers_));
    }

    void reduce(float* data, std::size_t count) {
        if (options_.hook == GradientHook::bf16) return reduce_halves<__nv_bfloat16>(data, count);
        if (options_.hook == GradientHook::f16) return reduce_halves<__half>(data, count);
        const bool divides_at_the_end = options_.aggregation == GradientAggregation::mean &&
                                        (!options_.uneven_inputs || options_.divide_by_all_workers);
        const double own_factor = factor();
        const cudaStream_t stream = stream_.get();
        const CallOptions call{.streams = {&stream, 1}, .factors = {&own_factor, 1}};
        const CallOptions plain{.streams = {&stream, 1}};
        if (divides_at_the_end) {
            works_.add(rank_.all_reduce(ReduceOp::mean, data, data, count, plain));
        } else if (options_.aggregation == GradientAggregation::sum) {
            works_.add(rank_.all_reduce(ReduceOp::sum, data, data, count, plain));
        } else {
            works_.add(rank_.all_reduce(ReduceOp::premul_sum, data, data, count, call));
        }
    }

    template <class Half>
    void reduce_halves(float* data, std::size_t count) {
        auto* const halves = reinterpret_cast<Half*>(halves_->data());
        launch(stream_, kernels::Compress<Half>{data, halves, count, static_cast<float>(factor())});
        const cudaStream_t stream = stream_.get();
        works_.add(
            rank_.all_reduce(ReduceOp::sum, halves, halves, count, {.streams = {&stream, 1}}));
        launch(stream_, kernels::Expand<Half>{halves, data, count});
    }

    /// What was not ready counts as 0, unless earlier steps accumulated something.
    void add_unused() {
        std::vector<std::string> missing;
        for (std::size_t p = 0; p < parameters_.size(); ++p) {
            if (ready_[p]) continue;
            if (!options_.find_unused && !touched_[p]) {
                missing.push_back(parameters_[p].name);
                continue;
            }
            if (!touched_[p]) {
                fill_bytes(*compute_,
                           DeviceSpan<float>(device_, gradients_ + parameters_[p].offset,
                                             parameters_[p].size),
                           std::byte{0});
            }
            if (!rebuilt_) order_.push_back(p);
            mark_ready(p);
        }
        if (!missing.empty()) {
            compute_.reset();
            throw InvalidArgument(
                fmt::format("these parameters got no gradient in the step: {}; find_unused allows "
                            "that",
                            fmt::join(missing, ", ")));
        }
    }

    void exchange_usage() {
        std::vector<std::int32_t> users(touched_.begin(), touched_.end());
        if (users.empty()) return;
        agreement_.sum(users);
        for (std::size_t p = 0; p < users.size(); ++p) used_[p] = users[p] > 0;
    }

    /// Rank 0's order for everybody.
    void rebuild() {
        rebuilt_ = true;
        if (parameters_.empty()) return;
        std::vector<std::int32_t> order(order_.begin(), order_.end());
        agreement_.take_from_first(order);
        const std::vector<std::size_t> agreed(order.begin(), order.end());
        use_buckets(fill_buckets(agreed, parameters_, options_));
    }

    void shadow_step(float* zeros) {
        gradients_ = zeros;
        compute_.emplace(stream_.ref());
        weight_ = 0;
        ready_.assign(parameters_.size(), false);
        next_bucket_ = 0;
        for (std::size_t b = 0; b < buckets_.size(); ++b) pending_[b] = buckets_[b].size();
        for (std::size_t p = parameters_.size(); p-- > 0;) {
            if (!rebuilt_) order_.push_back(p);
            mark_ready(p);
        }
        touched_.assign(parameters_.size(), false);
        finish_step();
        wait();
    }

    void adopt_longest(std::uint64_t own_steps, float* parameters, std::size_t count) {
        const std::vector<std::uint64_t> steps = agreement_.all(own_steps);
        const auto longest = std::ranges::max_element(steps) - steps.begin();
        const cudaStream_t stream = stream_.get();
        rank_
            .broadcast(parameters, parameters, count, static_cast<int>(longest),
                       {.streams = {&stream, 1}})
            .wait();
    }

    RankHandle rank_;
    std::size_t workers_;
    DeviceId device_;
    std::vector<GradientSlice> parameters_;
    BucketOptions options_;
    Stream stream_;
    Agreement agreement_;
    WholeArrays whole_arrays_;
    Event computed_;
    Event reduced_;
    StreamClock clock_;

    BucketList buckets_;
    std::vector<BucketLayout> layouts_;
    std::vector<std::size_t> bucket_of_;  ///< by parameter
    std::optional<DeviceBuffer<float>> packed_;
    std::optional<DeviceBuffer<std::uint16_t>> halves_;
    std::optional<DeviceBuffer<float>> zeros_;
    std::size_t extent_ = 0;  ///< elements of the gradients that anybody touches
    bool rebuilt_ = false;
    bool synchronizing_ = true;

    // Of the step.
    std::optional<StreamRef> compute_;
    float* gradients_ = nullptr;
    double weight_ = 1;
    std::int64_t active_ = 0;
    std::vector<bool> ready_;
    std::vector<bool> touched_;  ///< since the last step that was sent
    std::vector<bool> used_;
    std::vector<std::size_t> pending_;
    std::size_t next_bucket_ = 0;
    std::vector<std::size_t> order_;
    WorkList works_;
    std::uint64_t steps_ = 0;
};

CommunicatorGradientSync::CommunicatorGradientSync(const Communicator& communicator, int rank,
                                                   std::vector<GradientSlice> parameters,
                                                   const BucketOptions& options)
    : state_(std::make_unique<State>(communicator, rank, std::move(parameters), options)) {}
CommunicatorGradientSync::~CommunicatorGradientSync() = default;
CommunicatorGradientSync::CommunicatorGradientSync(CommunicatorGradientSync&&) noexcept = default;

void CommunicatorGradientSync::sync_gradients(std::span<float> gradients) {
    state_->sync_gradients(gradients);
}
bool CommunicatorGradientSync::is_distributed() const {
    return state_->workers() > 1;
}
std::size_t CommunicatorGradientSync::num_workers() const {
    return state_->workers();
}
void CommunicatorGradientSync::begin_step(float* gradients, cudaStream_t stream, double weight) {
    state_->begin_step(gradients, stream, weight);
}
void CommunicatorGradientSync::gradient_ready(std::size_t parameter) {
    state_->gradient_ready(parameter);
}
void CommunicatorGradientSync::finish_step() {
    state_->finish_step();
}
void CommunicatorGradientSync::wait() {
    state_->wait();
}
void CommunicatorGradientSync::set_synchronizing(bool on) {
    state_->set_synchronizing(on);
}
void CommunicatorGradientSync::join(float* parameters, std::size_t count) {
    state_->join(parameters, count);
}
bool CommunicatorGradientSync::used(std::size_t parameter) const {
    return state_->used(parameter);
}
const std::vector<std::vector<std::size_t>>& CommunicatorGradientSync::buckets() const {
    return state_->buckets();
}
void CommunicatorGradientSync::observe(Timeline* timeline, std::uint32_t worker,
                                       std::uint64_t step) {
    state_->observe(timeline, worker, step);
}

}  // namespace rondo::training
