// Coordinators of users, and what they are made of.
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rondo/training/coordinator.hpp"
#include "training/engine/coordinators.hpp"
#include "training/engine/trainee.hpp"

namespace rondo::training {

void CoordinatorRegistry::add(std::string name, Coordinator coordinator) {
    if (name.empty() || !coordinator || coordinators_.contains(name)) {
        throw InvalidArgument(fmt::format("a coordinator can't be registered as '{}': {}", name,
                                          name.empty()   ? "the name is empty"
                                          : !coordinator ? "there is no function"
                                                         : "the name is taken"));
    }
    coordinators_.emplace(std::move(name), std::move(coordinator));
}

const Coordinator& CoordinatorRegistry::find(const std::string& name) const {
    const auto found = coordinators_.find(name);
    if (found == coordinators_.end()) {
        throw InvalidArgument(fmt::format(
            "there is no coordinator '{}'; {}", name,
            coordinators_.empty() ? "none was registered"
                                  : fmt::format("known are: {}", fmt::join(names(), ", "))));
    }
    return found->second;
}

std::vector<std::string> CoordinatorRegistry::names() const {
    std::vector<std::string> names;
    for (const auto& [name, coordinator] : coordinators_) names.push_back(name);
    return names;
}

TrainingReport train_custom(const TrainingJob& job) {
    static const CoordinatorRegistry none;
    const Custom& strategy = *job.strategy.get_if<Custom>();
    const CoordinatorRegistry& registry =
        job.options.coordinators != nullptr ? *job.options.coordinators : none;
    const Coordinator& coordinator = registry.find(strategy.coordinator);
    TrainingReport report =
        coordinator({job.model, job.data, job.options, job.devices, strategy.config});
    report.strategy = job.strategy;
    if (report.parameter_infos.empty()) report.parameter_infos = job.model.parameters();
    return report;
}

class LocalTrainer::State {
public:
    State(const Model& model, const DataSource& data, int device, const TrainingOptions& wanted)
        : options(wanted), trainee(model, data, device, options) {}

    TrainingOptions options;
    Trainee trainee;
};

LocalTrainer::LocalTrainer(const Model& model, const DataSource& data, int device,
                           const TrainingOptions& options)
    : state_(std::make_unique<State>(model, data, device, options)) {}
LocalTrainer::~LocalTrainer() = default;
LocalTrainer::LocalTrainer(LocalTrainer&&) noexcept = default;

std::vector<float> LocalTrainer::parameters() const {
    return state_->trainee.parameters();
}
void LocalTrainer::set_parameters(std::span<const float> parameters) {
    state_->trainee.set_parameters(parameters);
}
const OptimizerSettings& LocalTrainer::optimizer() const {
    return state_->trainee.optimizer_settings();
}
void LocalTrainer::set_optimizer(const OptimizerSettings& settings) {
    state_->trainee.reset_optimizer(settings);
}
double LocalTrainer::train_epoch(std::span<const std::size_t> samples, std::uint64_t seed,
                                 std::uint32_t max_steps, double proximal) {
    return state_->trainee.train_epoch(samples, Random(state_->options.seed, 0x10ca1, seed),
                                       max_steps, proximal);
}
std::uint64_t LocalTrainer::steps() const {
    return state_->trainee.steps();
}
Evaluation LocalTrainer::evaluate(const DataSource& data) {
    return state_->trainee.evaluate(data);
}

}  // namespace rondo::training
