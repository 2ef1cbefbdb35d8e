// See the headers.
#include "training/model/optimizer.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cuda/copy.hpp"
#include "rondo/error.hpp"
#include "training/kernels/launch.hpp"

namespace rondo::training {
namespace {

void require_setting(double value, bool inside, const char* name, const char* range) {
    if (!inside || !std::isfinite(value)) {
        throw InvalidArgument(fmt::format("{} is {}; it must be {}", name, value, range));
    }
}

void require_rate(double value) {
    require_setting(value, value >= 0, "the learning rate", "0 or more");
}

void require_decay(double value) {
    require_setting(value, value >= 0, "the weight decay", "0 or more");
}

bool has_velocity(const OptimizerSettings& settings) {
    const Sgd* const sgd = std::get_if<Sgd>(&settings);
    return sgd == nullptr || sgd->momentum != 0;
}

/// The member of the settings with this name, or null.
double* find_setting(OptimizerSettings& settings, std::string_view name) {
    if (Sgd* const sgd = std::get_if<Sgd>(&settings)) {
        return name == "learning_rate" || name == "lr" ? &sgd->learning_rate
               : name == "momentum"                    ? &sgd->momentum
               : name == "weight_decay"                ? &sgd->weight_decay
                                                       : nullptr;
    }
    Adam& adam = std::get<Adam>(settings);
    return name == "learning_rate" || name == "lr" ? &adam.learning_rate
           : name == "momentum" || name == "beta1" ? &adam.beta1
           : name == "beta2"                       ? &adam.beta2
           : name == "epsilon"                     ? &adam.epsilon
           : name == "weight_decay"                ? &adam.weight_decay
                                                   : nullptr;
}

double& require_named_setting(OptimizerSettings& settings, std::string_view name) {
    double* const found = find_setting(settings, name);
    if (found == nullptr) {
        throw InvalidArgument(fmt::format("{} has no setting '{}'", to_string(settings), name));
    }
    return *found;
}

void parse_setting(OptimizerSettings& settings, std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const std::string_view value =
        equals == text.npos ? std::string_view() : text.substr(equals + 1);
    double& target = require_named_setting(settings, name);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), target);
    if (error != std::errc() || end != value.data() + value.size()) {
        throw InvalidArgument(fmt::format("the setting '{}' must be a number: '{}'", name, value));
    }
}

}  // namespace

void validate(const OptimizerSettings& settings) {
    if (const Sgd* const sgd = std::get_if<Sgd>(&settings)) {
        require_rate(sgd->learning_rate);
        require_setting(sgd->momentum, sgd->momentum >= 0 && sgd->momentum < 1, "the momentum",
                        "0 to below 1");
        require_decay(sgd->weight_decay);
        return;
    }
    const Adam& adam = std::get<Adam>(settings);
    require_rate(adam.learning_rate);
    require_setting(adam.beta1, adam.beta1 >= 0 && adam.beta1 < 1, "beta1", "0 to below 1");
    require_setting(adam.beta2, adam.beta2 >= 0 && adam.beta2 < 1, "beta2", "0 to below 1");
    require_setting(adam.epsilon, adam.epsilon > 0, "epsilon", "above 0");
    require_decay(adam.weight_decay);
}

std::string to_string(const OptimizerSettings& settings) {
    if (const Sgd* const sgd = std::get_if<Sgd>(&settings)) {
        return fmt::format("sgd(learning_rate {}, momentum {}, weight_decay {})",
                           sgd->learning_rate, sgd->momentum, sgd->weight_decay);
    }
    const Adam& adam = std::get<Adam>(settings);
    return fmt::format("adam(learning_rate {}, beta1 {}, beta2 {}, epsilon {}, weight_decay {})",
                       adam.learning_rate, adam.beta1, adam.beta2, adam.epsilon, adam.weight_decay);
}

OptimizerSettings parse_optimizer(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    OptimizerSettings settings = Sgd{};
    if (kind == "adam") {
        settings = Adam{};
    } else if (kind != "sgd") {
        throw InvalidArgument(fmt::format("unknown optimiser '{}'; it must be sgd or adam", kind));
    }
    std::string_view rest = colon == text.npos ? std::string_view() : text.substr(colon + 1);
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        parse_setting(settings, rest.substr(0, comma));
        rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    }
    validate(settings);
    return settings;
}

Optimizer::Optimizer(StreamRef stream, const OptimizerSettings& settings, std::size_t count)
    : stream_(stream),
      settings_(settings),
      count_(count),
      first_(stream.device(), count),
      second_(stream.device(), std::holds_alternative<Adam>(settings) ? count : 0) {
    validate(settings);
    fill_bytes(stream, first_.span(), std::byte{0});
    fill_bytes(stream, second_.span(), std::byte{0});
}

void Optimizer::change_settings(const OptimizerSettings& settings) {
    validate(settings);
    if (settings.index() != settings_.index()) {
        throw InvalidArgument("an optimiser can't become one of another kind");
    }
    settings_ = settings;
}

void Optimizer::step(float* parameters, const float* gradients) {
    ++steps_;
    if (const Sgd* const sgd = std::get_if<Sgd>(&settings_)) {
        launch(stream_, kernels::SgdStep{parameters, gradients,
                                         has_velocity(settings_) ? first_.data() : nullptr, count_,
                                         static_cast<float>(sgd->learning_rate),
                                         static_cast<float>(sgd->momentum),
                                         static_cast<float>(sgd->weight_decay)});
        return;
    }
    const Adam& adam = std::get<Adam>(settings_);
    const double t = static_cast<double>(steps_);
    launch(stream_,
           kernels::AdamStep{parameters, gradients, first_.data(), second_.data(), count_,
                             static_cast<float>(adam.learning_rate), static_cast<float>(adam.beta1),
                             static_cast<float>(adam.beta2), static_cast<float>(adam.epsilon),
                             static_cast<float>(adam.weight_decay),
                             static_cast<float>(1 - adam.beta1), static_cast<float>(1 - adam.beta2),
                             static_cast<float>(1 - std::pow(adam.beta1, t)),
                             static_cast<float>(std::sqrt(1 - std::pow(adam.beta2, t)))});
}

OptimizerState Optimizer::state() const {
    OptimizerState state{.steps = steps_,
                         .first = std::vector<float>(first_.size()),
                         .second = std::vector<float>(second_.size())};
    copy(stream_, std::span(state.first), DeviceSpan<const float>(first_.span()));
    copy(stream_, std::span(state.second), DeviceSpan<const float>(second_.span()));
    stream_.synchronize();
    return state;
}

void Optimizer::set_state(const OptimizerState& state) {
    if (state.first.size() != first_.size() || state.second.size() != second_.size()) {
        throw InvalidArgument(
            fmt::format("an optimiser's state has {} and {} values; {} and {} are needed",
                        state.first.size(), state.second.size(), first_.size(), second_.size()));
    }
    steps_ = state.steps;
    copy(stream_, first_.span(), std::span<const float>(state.first));
    copy(stream_, second_.span(), std::span<const float>(state.second));
    stream_.synchronize();
}

double hyperparameter(const OptimizerSettings& settings, std::string_view name) {
    OptimizerSettings copy = settings;
    return require_named_setting(copy, name);
}

void set_hyperparameter(OptimizerSettings& settings, std::string_view name, double value) {
    require_named_setting(settings, name) = value;
}

}  // namespace rondo::training
