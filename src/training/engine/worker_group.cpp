// See the header.
#include "training/engine/worker_group.hpp"

#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rondo/cuda_error.hpp"
#include "rondo/training/train.hpp"

namespace rondo::training {
namespace {

/// The failures of a group, in the order of time.
class FailureList {
public:
    /// True for the first.
    bool add(std::size_t worker, std::exception_ptr error) {
        const std::scoped_lock lock(mutex_);
        failures_.push_back({worker, std::move(error)});
        return failures_.size() == 1;
    }

    /// The first of those that say most.
    void throw_cause(const WorkerName& name) const {
        if (failures_.empty()) return;
        const Failure* cause = &failures_.front();
        for (const Failure& failure : failures_) {
            if (weight(failure.error) > weight(cause->error)) cause = &failure;
        }
        try {
            std::rethrow_exception(cause->error);
        } catch (const InvalidArgument&) {
            throw;  // the caller can mend that
        } catch (const std::exception& error) {
            throw WorkerError(cause->worker,
                              fmt::format("{}: {}", name(cause->worker), error.what()));
        }
    }

private:
    struct Failure {
        std::size_t worker;
        std::exception_ptr error;
    };
    /// Who was aborted by others is not the cause; a device that is lost is one, whatever its peers
    /// met when they touched its memory.
    static int weight(const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const AbortedError&) {
            return 0;
        } catch (const CudaError& cuda) {
            return cuda.code() == cudaErrorDevicesUnavailable ? 2 : 1;
        } catch (...) {
            return 1;
        }
    }

    std::mutex mutex_;
    std::vector<Failure> failures_;
};

}  // namespace

void Meeting::meet(std::size_t worker, const std::function<void()>& action) {
    std::unique_lock lock(mutex_);
    if (aborted_) throw AbortedError("another worker has failed");
    present_[worker] = true;
    if (++arrived_ == workers_) {
        try {
            if (action) action();
        } catch (...) {
            aborted_ = true;
            changed_.notify_all();
            throw;
        }
        arrived_ = 0;
        present_.assign(workers_, false);
        ++round_;
        changed_.notify_all();
        return;
    }
    const std::uint64_t round = round_;
    const auto over = [&] { return round_ != round || aborted_; };
    if (timeout_.count() == 0) {
        changed_.wait(lock, over);
    } else if (!changed_.wait_for(lock, timeout_, over)) {
        aborted_ = true;
        changed_.notify_all();
        throw TimeoutError(describe_missing());
    }
    if (round_ == round) throw AbortedError("another worker has failed");
}

void Meeting::abort() {
    const std::scoped_lock lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
}

std::string Meeting::describe_missing() const {
    std::vector<std::size_t> missing;
    for (std::size_t w = 0; w < workers_; ++w) {
        if (!present_[w]) missing.push_back(w);
    }
    return fmt::format("workers {} did not finish the round within {:.3g} s", missing,
                       std::chrono::duration<double>(timeout_).count());
}

void run_worker_group(const WorkerGroupOptions& options,
                      const std::function<void(std::size_t)>& body) {
    FailureList failures;
    {
        std::vector<std::jthread> threads;
        for (std::size_t w = 0; w < options.workers; ++w) {
            threads.emplace_back([&, w] {
                try {
                    body(w);
                } catch (...) {
                    if (failures.add(w, std::current_exception()) && options.abort) {
                        try {
                            options.abort();
                        } catch (const std::exception&) {
                            // What can't be aborted ends at its deadline.
                        }
                    }
                }
            });
        }
    }
    failures.throw_cause(options.name);
}

}  // namespace rondo::training
