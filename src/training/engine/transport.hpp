// How activations and gradients get from one worker of a pipeline to another: one interface, one
// implementation per CommunicationProtocol.
//
// All workers post the messages of a step in the same order, that of the tasks that produce them.
// So everything in every stream is in one order that all agree on, and nothing can wait in a
// circle, however few queues a device has.
#pragma once

#include <memory>
#include <vector>

#include "cuda/event.hpp"
#include "cuda/stream.hpp"
#include "rondo/communicator.hpp"
#include "rondo/training/pipeline.hpp"
#include "training/engine/layout.hpp"

namespace rondo::training {

/// A value of `node` for a worker that uses it, or the gradient of `node` from a user of it.
struct PipelineMessage {
    std::size_t task = 0;  ///< that produces it
    bool gradient = false;
    std::uint32_t micro_batch = 0;
    std::size_t node = 0;
    std::size_t consumer = 0;  ///< gradients: the node that computed it
    std::uint32_t from = 0;
    std::uint32_t to = 0;
};

/// In the order of the tasks.
std::vector<PipelineMessage> list_messages(const GraphPlan& plan,
                                           const std::vector<std::uint32_t>& worker_of_node,
                                           const std::vector<Segment>& segments,
                                           const PipelineTimetable& table);

/// What the workers of one replica share.
class TransportHub {
public:
    virtual ~TransportHub() = default;
    virtual void abort() = 0;
};

/// One worker's end. One thread uses it.
class Transport {
public:
    virtual ~Transport() = default;
    /// Behind what is in the compute stream now. The data must stay until finish_step().
    virtual void send(std::size_t message, const float* data, std::size_t count,
                      StreamRef compute) = 0;
    virtual void receive(std::size_t message, float* buffer, std::size_t count) = 0;
    /// A message that is neither from nor to this worker.
    virtual void pass(std::size_t message, std::size_t count) = 0;
    /// Lets the compute stream wait for a message that was received.
    virtual void wait_for(std::size_t message, StreamRef compute) = 0;
    /// Blocks until all messages of the step are through. Throws what went wrong.
    virtual void finish_step() = 0;
};

struct TransportOptions {
    CommunicationProtocol protocol = CommunicationProtocol::peer_to_peer;
    std::vector<int> devices;  ///< of the workers
    std::vector<PipelineMessage> messages;
    std::vector<std::size_t> message_floats;  ///< at most, by message
    std::chrono::nanoseconds timeout{};
};

std::shared_ptr<TransportHub> make_transport_hub(const TransportOptions& options);
std::unique_ptr<Transport> make_transport(const std::shared_ptr<TransportHub>& hub,
                                          const TransportOptions& options, std::uint32_t worker);

}  // namespace rondo::training
