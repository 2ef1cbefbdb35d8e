// Timetables by list scheduling: in every slot each idle worker takes the task that its rule
// prefers among those whose inputs are there.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "rondo/training/pipeline.hpp"

namespace rondo::training {
namespace {

class ListScheduler {
public:
    ListScheduler(PipelineKind kind, const std::vector<std::uint32_t>& worker_of_segment,
                  std::uint32_t micro_batches)
        : kind_(kind),
          workers_(worker_of_segment),
          forwards_(worker_of_segment.size()),
          backwards_(worker_of_segment.size()) {
        table_.micro_batches = micro_batches;
        table_.workers = *std::ranges::max_element(workers_) + 1;
    }

    PipelineTimetable run() {
        const std::size_t all = 2 * workers_.size() * table_.micro_batches;
        for (std::uint32_t slot = 0; table_.tasks.size() < all; ++slot) {
            std::vector<PipelineTask> chosen;
            for (std::uint32_t worker = 0; worker < table_.workers; ++worker) {
                if (auto task = choose(worker)) {
                    task->begin = slot;
                    chosen.push_back(*task);
                }
            }
            if (chosen.empty()) throw Error("a pipeline's timetable has no next task");
            // What is done in a slot is seen in the next.
            for (const PipelineTask& task : chosen) {
                ++(task.backward ? backwards_ : forwards_)[task.segment];
                table_.tasks.push_back(task);
            }
        }
        return table_;
    }

private:
    std::uint32_t last() const { return static_cast<std::uint32_t>(workers_.size() - 1); }

    std::optional<PipelineTask> choose(std::uint32_t worker) const {
        std::optional<PipelineTask> forward, backward;
        for (std::uint32_t s = 0; s <= last(); ++s) {
            if (workers_[s] != worker) continue;
            // Of several, the one that is farther: it frees activations sooner.
            if (can_forward(s)) forward = PipelineTask{worker, s, forwards_[s], false};
            if (can_backward(s) && !backward) {
                backward = PipelineTask{worker, s, backwards_[s], true};
            }
        }
        if (kind_ == PipelineKind::gpipe) {
            return forward ? forward : all_forwards_done(worker) ? backward : std::nullopt;
        }
        return backward ? backward : forward;
    }

    bool can_forward(std::uint32_t s) const {
        if (forwards_[s] == table_.micro_batches) return false;
        if (s > 0 && forwards_[s - 1] <= forwards_[s]) return false;
        return kind_ == PipelineKind::gpipe || forwards_[s] - backwards_[s] < last() - s + 1;
    }

    bool can_backward(std::uint32_t s) const {
        return backwards_[s] < forwards_[s] && (s == last() || backwards_[s + 1] > backwards_[s]);
    }

    bool all_forwards_done(std::uint32_t worker) const {
        for (std::uint32_t s = 0; s <= last(); ++s) {
            if (workers_[s] == worker && forwards_[s] < table_.micro_batches) return false;
        }
        return true;
    }

    PipelineKind kind_;
    std::vector<std::uint32_t> workers_;
    std::vector<std::uint32_t> forwards_;   ///< done, by segment
    std::vector<std::uint32_t> backwards_;  ///< done, by segment
    PipelineTimetable table_;
};

}  // namespace

std::uint32_t PipelineTimetable::length() const {
    std::uint32_t end = 0;
    for (const PipelineTask& task : tasks) end = std::max(end, task.begin + 1);
    return end;
}

double PipelineTimetable::bubble() const {
    std::vector<std::uint32_t> busy(workers);
    for (const PipelineTask& task : tasks) ++busy[task.worker];
    const double most = workers == 0 ? 0 : *std::ranges::max_element(busy);
    return most > 0 ? (length() - most) / most : 0;
}

std::uint32_t PipelineTimetable::most_in_flight(std::uint32_t segment) const {
    std::uint32_t now = 0, most = 0;
    for (const PipelineTask& task : tasks) {
        if (task.segment != segment) continue;
        now = task.backward ? now - 1 : now + 1;
        most = std::max(most, now);
    }
    return most;
}

PipelineTimetable make_timetable(PipelineKind kind,
                                 const std::vector<std::uint32_t>& worker_of_segment,
                                 std::uint32_t micro_batches) {
    if (worker_of_segment.empty() || micro_batches == 0) {
        throw InvalidArgument(fmt::format("a pipeline can't have {} segments and {} micro-batches",
                                          worker_of_segment.size(), micro_batches));
    }
    return ListScheduler(kind, worker_of_segment, micro_batches).run();
}

std::string to_string(const PipelineTimetable& table) {
    bool interleaved = false;
    for (const PipelineTask& task : table.tasks) interleaved |= task.segment != task.worker;
    const std::size_t width =
        3 + std::to_string(table.micro_batches).size() + (interleaved ? 3 : 0);
    std::vector<std::string> lines(table.workers);
    for (std::uint32_t w = 0; w < table.workers; ++w) {
        lines[w] = fmt::format("worker {:<3}", w) + std::string(width * table.length(), ' ');
    }
    for (const PipelineTask& task : table.tasks) {
        std::string cell = fmt::format("{}{}", task.backward ? 'B' : 'F', task.micro_batch);
        if (interleaved) cell += fmt::format("/{}", task.segment);
        lines[task.worker].replace(10 + task.begin * width, cell.size(), cell);
    }
    std::string text;
    for (std::string& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace rondo::training
