// What all coordinators do between rounds: progress, patience, curves, checkpoints.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rondo/training/checkpoint.hpp"
#include "rondo/training/train.hpp"
#include "training/engine/coordinators.hpp"

namespace rondo::training {

class RoundKeeper {
public:
    /// `rounds`: how many there will be.
    RoundKeeper(const TrainingJob& job, std::uint64_t rounds);

    std::uint64_t round() const { return round_; }
    std::uint64_t steps() const { return steps_; }
    bool running() const { return ended_because_.empty(); }

    void add_point(const std::string& curve, double loss, std::optional<double> accuracy = {});
    /// A round is complete. Tells progress and decides whether there is another.
    void finish_round(std::uint64_t steps, double loss,
                      const std::optional<Evaluation>& validation);
    /// Whether the round that was finished last is to be saved.
    bool wants_checkpoint() const;
    /// Adds this object's own state and writes the file.
    void save(Checkpoint checkpoint) const;
    /// The checkpoint to go on from, if there is one, with this object's state taken from it.
    std::optional<Checkpoint> resume();

    /// Fills what it knows.
    void complete(TrainingReport& report) const;

private:
    /// Empty: there is none.
    std::string reason_to_end() const;
    void draw_bar(double loss, const std::optional<Evaluation>& validation) const;

    const TrainingOptions& options_;
    std::string identity_;
    std::uint64_t rounds_;
    std::uint64_t round_ = 0;
    std::uint64_t steps_ = 0;
    double best_loss_;
    std::uint64_t stale_rounds_ = 0;
    std::uint64_t lost_since_ = 0;  ///< the round with the first loss that is not finite
    std::string ended_because_;
    std::vector<Curve> curves_;
};

}  // namespace rondo::training
