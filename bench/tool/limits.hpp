// The limits of a collective of virtual GPUs, which all live in one memory: how fast all cores can
// read and write as many bytes, and how fast the same collective is when it is written by hand.
#pragma once

#include <vector>

#include "bench/tool/contestant.hpp"
#include "bench/tool/memory_loops.hpp"
#include "bench/tool/pinned_team.hpp"

namespace rondo::bench {

/// A share of a fold that one thread does.
struct FoldWork {
    std::vector<const float*> sources = {};
    std::vector<float*> destinations = {};
    std::size_t count = 0;  ///< floats
};

/// What a case comes to in floats, one or more folds that are independent of each other.
std::vector<FoldWork> folds_of(const Buffers& buffers, const Case& test);

/// Cuts its folds over pinned threads; takes the style of loop that is fastest for the case.
/// Elements of all types are treated as floats: the bytes count.
class FoldLimit : public Contestant {
public:
    explicit FoldLimit(const Buffers& buffers) : buffers_(buffers) {}
    void begin(const Case& test) override;
    double run(int warm_up, int iterations) override;

protected:
    virtual std::vector<FoldWork> work_of(const Case& test) const = 0;
    const Buffers& buffers_;

private:
    struct Way {
        LoopStyle style = {};
        bool alone =
            false;  ///< one thread: faster than meeting others, where there is little to do
        bool turns = false;  ///< every other pass goes backwards
    };
    static std::vector<Way> ways_of(const std::vector<FoldWork>& work);
    double time(PinnedTeam& team, const Way& way, int iterations) const;

    std::vector<FoldWork> work_;
    Way way_ = {};
};

/// The collective itself: every element is read once from every source, added, and written once to
/// every destination.
class HandWritten final : public FoldLimit {
public:
    using FoldLimit::FoldLimit;
    std::string name() const override { return "hand-written"; }

protected:
    std::vector<FoldWork> work_of(const Case& test) const override;
};

/// Reads and writes as many bytes as the collective must, one to one.
class ReadWriteLoop final : public FoldLimit {
public:
    using FoldLimit::FoldLimit;
    std::string name() const override { return "read/write loop"; }

protected:
    std::vector<FoldWork> work_of(const Case& test) const override;
};

}  // namespace rondo::bench
