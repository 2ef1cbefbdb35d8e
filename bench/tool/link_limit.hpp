// The limit of a collective of real GPUs: how fast the copy engines move the bytes that must cross
// the links, all at once, and what the topology allows.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "bench/tool/contestant.hpp"
#include "topology/graph/topology.hpp"

namespace rondo::bench {

/// Copies between the ranks' devices: as many bytes from each to each as the collective must move,
/// in the best case. Measured.
class LinkCopies final : public Contestant {
public:
    explicit LinkCopies(const Buffers& buffers) : buffers_(buffers) {}
    ~LinkCopies() override;
    std::string name() const override { return "link copies"; }
    void begin(const Case& test) override;
    double run(int warm_up, int iterations) override;

private:
    struct Lane {
        LinkTransfer transfer;
        cudaStream_t stream = nullptr;
    };

    void copy_all() const;
    void release() noexcept;

    const Buffers& buffers_;
    std::vector<Lane> lanes_;
};

/// Bytes of the message per second that no schedule exceeds on this wiring; 0: nothing limits, or
/// it is not known. Computed, not measured.
double bound_of(const Topology& topology, const Case& test);

}  // namespace rondo::bench
