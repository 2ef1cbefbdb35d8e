// Kernels that wait for other devices must all be resident. Those that may run at the same time on
// one device, of several communicators or of collectives and exchanges, and don't fit together run
// one after the other.
#pragma once

#include <vector>

#include "communicator/machine.hpp"
#include "cuda/event.hpp"
#include "cuda/stream.hpp"

namespace rondo::detail {

/// One communicator's part of a list that all communicators of the process share. Thread safe.
class DeviceOrder {
public:
    explicit DeviceOrder(const Machine& machine);
    ~DeviceOrder();
    DeviceOrder(const DeviceOrder&) = delete;
    DeviceOrder& operator=(const DeviceOrder&) = delete;

    /// What has an order anyway: a communicator's collectives, and exchanges in one stream.
    enum class Kind { collective, exchange };

    /// A launch of so many blocks is about to enter the stream: it waits for the latest kernels on
    /// the device that have no order with it, unless there is room for all of them.
    void before_launch(StreamRef stream, Kind kind, unsigned blocks);
    /// The launch is in the stream; `event` tells its end and lives as long as the communicator.
    void after_launch(StreamRef stream, Kind kind, unsigned blocks, EventRef event);

private:
    std::vector<std::pair<DeviceId, unsigned>> room_;  ///< blocks that fit on each device
};

}  // namespace rondo::detail
