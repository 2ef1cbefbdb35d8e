// Works that must be waited for, oldest first.
#pragma once

#include <utility>
#include <vector>

#include "rondo/communicator.hpp"

namespace rondo::training {

class WorkList {
public:
    void add(Work work) { works_.push_back(std::move(work)); }
    /// All of them, or until the first error: one that fails makes the others fail too.
    void wait() {
        std::vector<Work> works = std::exchange(works_, {});
        for (Work& work : works) work.wait();
    }

private:
    std::vector<Work> works_;
};

}  // namespace rondo::training
