// See the header.
#include "training/engine/rounds.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "training/engine/identity.hpp"

namespace rondo::training {
namespace {

constexpr std::string_view curve_prefix = "curve/";

std::vector<double> points_as_numbers(const Curve& curve) {
    std::vector<double> numbers;
    for (const CurvePoint& point : curve.points) {
        numbers.insert(numbers.end(), {point.round, point.loss, point.accuracy ? 1.0 : 0.0,
                                       point.accuracy.value_or(0)});
    }
    return numbers;
}

}  // namespace

RoundKeeper::RoundKeeper(const TrainingJob& job, std::uint64_t rounds)
    : options_(job.options),
      identity_(run_identity(job)),
      rounds_(rounds),
      best_loss_(std::numeric_limits<double>::infinity()) {}

void RoundKeeper::add_point(const std::string& name, double loss, std::optional<double> accuracy) {
    for (Curve& curve : curves_) {
        if (curve.name == name) {
            curve.points.push_back({static_cast<double>(round_ + 1), loss, accuracy});
            return;
        }
    }
    curves_.push_back({name, {{static_cast<double>(round_ + 1), loss, accuracy}}});
}

void RoundKeeper::finish_round(std::uint64_t steps, double loss,
                               const std::optional<Evaluation>& validation) {
    if (validation) {
        add_point("validation", validation->loss,
                  options_.validation->class_count() > 0 ? std::optional(validation->accuracy)
                                                         : std::nullopt);
        stale_rounds_ = validation->loss < best_loss_ ? 0 : stale_rounds_ + 1;
        best_loss_ = std::min(best_loss_, validation->loss);
    }
    ++round_;
    steps_ = steps;
    ended_because_ = reason_to_end();
    if (options_.progress_bar) draw_bar(loss, validation);
    const Progress progress{round_, rounds_, steps_, loss, validation};
    if (options_.on_progress && !options_.on_progress(progress)) ended_because_ = "on_progress";
    if (!std::isfinite(loss) && lost_since_ == 0) lost_since_ = round_;
}

std::string RoundKeeper::reason_to_end() const {
    if (options_.patience > 0 && stale_rounds_ >= options_.patience) return "patience";
    return round_ >= rounds_ ? "all rounds are done" : "";
}

bool RoundKeeper::wants_checkpoint() const {
    return !options_.checkpoint.empty() &&
           (round_ % std::max(options_.checkpoint_every, 1u) == 0 || !running());
}

void RoundKeeper::save(Checkpoint checkpoint) const {
    checkpoint.text["identity"] = identity_;
    checkpoint.counts["round"] = round_;
    checkpoint.counts["steps"] = steps_;
    checkpoint.counts["stale rounds"] = stale_rounds_;
    checkpoint.counts["lost since"] = lost_since_;
    checkpoint.numbers["best loss"] = {best_loss_};
    for (std::size_t i = 0; i < curves_.size(); ++i) {
        // In their order: names are sorted in the file.
        checkpoint.numbers[fmt::format("{}{:06}/{}", curve_prefix, i, curves_[i].name)] =
            points_as_numbers(curves_[i]);
    }
    save_checkpoint(options_.checkpoint, checkpoint);
}

std::optional<Checkpoint> RoundKeeper::resume() {
    if (options_.resume.empty()) {
        ended_because_ = reason_to_end();
        return std::nullopt;
    }
    Checkpoint checkpoint = load_checkpoint(options_.resume);
    if (checkpoint.text_at("identity") != identity_) {
        throw CheckpointError(
            fmt::format("{} is of another run. {}", options_.resume,
                        describe_difference(checkpoint.text_at("identity"), identity_)));
    }
    round_ = checkpoint.count_at("round");
    steps_ = checkpoint.count_at("steps");
    stale_rounds_ = checkpoint.count_at("stale rounds");
    lost_since_ = checkpoint.count_at("lost since");
    const std::vector<double>& best = checkpoint.numbers_at("best loss");
    if (best.size() != 1) throw CheckpointError("the checkpoint's best loss is no number");
    best_loss_ = best[0];
    for (const auto& [name, numbers] : checkpoint.numbers) {
        if (!name.starts_with(curve_prefix) || name.size() < curve_prefix.size() + 7) continue;
        Curve curve{.name = name.substr(curve_prefix.size() + 7)};
        for (std::size_t i = 0; i + 4 <= numbers.size(); i += 4) {
            curve.points.push_back(
                {numbers[i], numbers[i + 1],
                 numbers[i + 2] != 0 ? std::optional(numbers[i + 3]) : std::nullopt});
        }
        curves_.push_back(std::move(curve));
    }
    ended_because_ = reason_to_end();
    return checkpoint;
}

void RoundKeeper::complete(TrainingReport& report) const {
    report.rounds = round_;
    report.steps = steps_;
    report.ended_because = ended_because_;
    report.curves = curves_;
    if (lost_since_ > 0) {
        report.notes.push_back(
            fmt::format("the loss is not finite since round {}; a smaller learning rate may help",
                        lost_since_));
    }
}

void RoundKeeper::draw_bar(double loss, const std::optional<Evaluation>& validation) const {
    if (::isatty(STDERR_FILENO) == 0) return;
    constexpr std::uint64_t width = 30;
    const std::uint64_t done = rounds_ == 0 ? width : round_ * width / rounds_;
    std::string line =
        fmt::format("\r[{}{}] {}/{}  loss {:.4f}", std::string(done, '#'),
                    std::string(width - std::min(done, width), '.'), round_, rounds_, loss);
    if (validation) {
        line += fmt::format("  validation {:.4f}", validation->loss);
        if (options_.validation->class_count() > 0) {
            line += fmt::format(", {:.1f} % right", 100 * validation->accuracy);
        }
    }
    fmt::print(stderr, "{}\x1b[K{}", line, running() ? "" : "\n");
    std::fflush(stderr);
}

}  // namespace rondo::training
