// Independent jobs spread over devices: a thread and a trainee per device, each takes every n-th
// job.
#pragma once

#include <deque>
#include <functional>

#include "training/engine/coordinators.hpp"
#include "training/engine/trainee.hpp"
#include "training/engine/worker_group.hpp"

namespace rondo::training {

class DeviceTeam {
public:
    DeviceTeam(const TrainingJob& job, std::size_t most_jobs) : timeline_(job.options.timeline) {
        const std::size_t size = std::min(job.devices.size(), most_jobs);
        for (std::size_t i = 0; i < size; ++i) {
            trainees_.emplace_back(job.model, job.data, job.devices[i], job.options);
            devices_.push_back(job.devices[i]);
        }
    }

    /// Runs work(trainee, job) for all jobs of a round. What it throws ends the run, with the
    /// device named. `name` is what a job is called in a timeline.
    void run(std::size_t jobs, std::uint64_t round,
             const std::function<std::string(std::size_t)>& name,
             const std::function<void(Trainee&, std::size_t)>& work) {
        const std::size_t size = trainees_.size();
        run_worker_group({.workers = size,
                          .name =
                              [this](std::size_t w) {
                                  return "worker " + std::to_string(w) + " (device " +
                                         std::to_string(devices_[w]) + ")";
                              },
                          .abort = {}},
                         [&](std::size_t w) {
                             for (std::size_t i = w; i < jobs; i += size) {
                                 const double begin = timeline_ == nullptr ? 0 : timeline_->now();
                                 work(trainees_[w], i);
                                 if (timeline_ == nullptr) continue;
                                 timeline_->add({static_cast<std::uint32_t>(w), "compute", name(i),
                                                 round, begin, timeline_->now()});
                             }
                         });
    }

private:
    Timeline* timeline_;
    std::deque<Trainee> trainees_;
    std::vector<int> devices_;
};

}  // namespace rondo::training
