// See the header.
#include "training/engine/transport.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "cuda/buffer.hpp"
#include "cuda/copy.hpp"
#include "training/sync/work_list.hpp"

namespace rondo::training {
namespace {

/// What all implementations have: where received data is complete.
class EventfulTransport : public Transport {
public:
    EventfulTransport(const TransportOptions& options, std::uint32_t worker)
        : options_(options), worker_(worker), device_(options.devices[worker]) {
        for (std::size_t m = 0; m < options_.messages.size(); ++m) {
            if (options_.messages[m].to == worker) arrived_.try_emplace(m, device_);
        }
    }
    void pass(std::size_t, std::size_t) override {}
    void wait_for(std::size_t message, StreamRef compute) override {
        compute.wait(arrived_.at(message));
    }

protected:
    const PipelineMessage& message(std::size_t m) const { return options_.messages[m]; }

    TransportOptions options_;
    std::uint32_t worker_;
    DeviceId device_;
    std::map<std::size_t, Event> arrived_;
};

class CommunicatorHub final : public TransportHub {
public:
    explicit CommunicatorHub(const TransportOptions& options)
        : communicator(
              Communicator::create({.devices = options.devices, .timeout = options.timeout})) {
        if (options.protocol == CommunicationProtocol::peer_to_peer) connect(options);
    }
    /// Sends something along every way that will be used, one after the other: the first call of a
    /// pair allocates, which must not happen while other devices wait for it.
    void connect(const TransportOptions& options) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> ways;
        for (std::size_t m = 0; m < options.messages.size(); ++m) {
            std::size_t& floats = ways[{options.messages[m].from, options.messages[m].to}];
            floats = std::max(floats, options.message_floats[m]);
        }
        for (const auto& [way, floats] : ways) {
            const int from = static_cast<int>(way.first), to = static_cast<int>(way.second);
            const auto source = Tensor<float>::allocate(communicator.device(from), floats);
            const auto target = Tensor<float>::allocate(communicator.device(to), floats);
            Work sent = communicator.rank(from).send(source.data(), floats, to);
            communicator.rank(to).receive(target.data(), floats, from).wait();
            sent.wait();
        }
    }
    void abort() override { communicator.abort(); }

    Communicator communicator;
};

/// A stream per peer and direction.
class PeerTransport final : public EventfulTransport {
public:
    PeerTransport(const CommunicatorHub& hub, const TransportOptions& options, std::uint32_t worker)
        : EventfulTransport(options, worker),
          rank_(hub.communicator.rank(static_cast<int>(worker))),
          computed_(device_) {
        for (const PipelineMessage& m : options_.messages) {
            if (m.from == worker) to_.try_emplace(m.to, device_);
            if (m.to == worker) from_.try_emplace(m.from, device_);
        }
    }

    void send(std::size_t m, const float* data, std::size_t count, StreamRef compute) override {
        const Stream& stream = to_.at(message(m).to);
        computed_.record(compute);
        stream.wait(computed_);
        const cudaStream_t handle = stream.get();
        works_.add(
            rank_.send(data, count, static_cast<int>(message(m).to), {.streams = {&handle, 1}}));
    }
    void receive(std::size_t m, float* buffer, std::size_t count) override {
        const Stream& stream = from_.at(message(m).from);
        const cudaStream_t handle = stream.get();
        works_.add(rank_.receive(buffer, count, static_cast<int>(message(m).from),
                                 {.streams = {&handle, 1}}));
        arrived_.at(m).record(stream);
    }
    void finish_step() override {
        works_.wait();
        for (const auto& [peer, stream] : to_) stream.synchronize();
        for (const auto& [peer, stream] : from_) stream.synchronize();
    }

private:
    RankHandle rank_;
    Event computed_;
    std::map<std::uint32_t, Stream> to_;
    std::map<std::uint32_t, Stream> from_;
    WorkList works_;
};

/// Every message is a broadcast that all workers take part in.
class CollectiveTransport final : public EventfulTransport {
public:
    CollectiveTransport(const CommunicatorHub& hub, const TransportOptions& options,
                        std::uint32_t worker)
        : EventfulTransport(options, worker),
          rank_(hub.communicator.rank(static_cast<int>(worker))),
          computed_(device_),
          stream_(device_),
          discarded_(device_, options.message_floats.empty()
                                  ? 0
                                  : *std::ranges::max_element(options.message_floats)) {}

    void send(std::size_t m, const float* data, std::size_t count, StreamRef compute) override {
        computed_.record(compute);
        stream_.wait(computed_);
        // The sender's own copy goes where nobody looks.
        post(m, data, discarded_.data(), count);
    }
    void receive(std::size_t m, float* buffer, std::size_t count) override {
        post(m, buffer, buffer, count);
        arrived_.at(m).record(stream_);
    }
    void pass(std::size_t m, std::size_t count) override {
        post(m, discarded_.data(), discarded_.data(), count);
    }
    void finish_step() override {
        works_.wait();
        stream_.synchronize();
    }

private:
    void post(std::size_t m, const float* input, float* output, std::size_t count) {
        const cudaStream_t handle = stream_.get();
        works_.add(rank_.broadcast(input, output, count, static_cast<int>(message(m).from),
                                   {.streams = {&handle, 1}}));
    }

    RankHandle rank_;
    Event computed_;
    Stream stream_;
    DeviceBuffer<float> discarded_;
    WorkList works_;
};

/// Pinned buffers, and who has filled which of them. Steps are counted per message.
class HostHub final : public TransportHub {
public:
    explicit HostHub(const TransportOptions& options)
        : timeout_(options.timeout), posted_(options.messages.size()) {
        for (std::size_t m = 0; m < options.messages.size(); ++m) {
            const DeviceId device(options.devices[options.messages[m].from]);
            buffers_.emplace_back(device, options.message_floats[m]);
            filled_.emplace_back(device);
        }
    }

    std::span<float> buffer(std::size_t m, std::size_t count) const {
        return buffers_[m].span().first(count);
    }
    const Event& filled(std::size_t m) const { return filled_[m]; }

    void publish(std::size_t m) {
        const std::scoped_lock lock(mutex_);
        ++posted_[m];
        changed_.notify_all();
    }
    /// Until the message was published `times` times.
    void wait_published(std::size_t m, std::uint64_t times, const PipelineMessage& message) {
        std::unique_lock lock(mutex_);
        const auto over = [&] { return posted_[m] >= times || aborted_; };
        if (timeout_.count() == 0) {
            changed_.wait(lock, over);
        } else if (!changed_.wait_for(lock, timeout_, over)) {
            throw TimeoutError(fmt::format(
                "worker {} timed out after {:.3g} s waiting for micro-batch {} of worker {}",
                message.to, std::chrono::duration<double>(timeout_).count(), message.micro_batch,
                message.from));
        }
        if (posted_[m] < times) throw AbortedError("another worker of the pipeline has failed");
    }
    void abort() override {
        const std::scoped_lock lock(mutex_);
        aborted_ = true;
        changed_.notify_all();
    }

private:
    std::chrono::nanoseconds timeout_;
    std::vector<PinnedBuffer<float>> buffers_;
    std::vector<Event> filled_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::uint64_t> posted_;
    bool aborted_ = false;
};

class HostTransport final : public EventfulTransport {
public:
    HostTransport(std::shared_ptr<HostHub> hub, const TransportOptions& options,
                  std::uint32_t worker)
        : EventfulTransport(options, worker),
          hub_(std::move(hub)),
          computed_(device_),
          out_(device_),
          in_(device_),
          received_(options.messages.size()) {}

    void send(std::size_t m, const float* data, std::size_t count, StreamRef compute) override {
        computed_.record(compute);
        out_.wait(computed_);
        copy(out_, hub_->buffer(m, count), DeviceSpan<const float>(device_, data, count));
        hub_->filled(m).record(out_);
        hub_->publish(m);
    }
    void receive(std::size_t m, float* buffer, std::size_t count) override {
        hub_->wait_published(m, ++received_[m], message(m));
        in_.wait(hub_->filled(m));
        copy(in_, DeviceSpan<float>(device_, buffer, count),
             std::span<const float>(hub_->buffer(m, count)));
        arrived_.at(m).record(in_);
    }
    void finish_step() override {
        out_.synchronize();
        in_.synchronize();
    }

private:
    std::shared_ptr<HostHub> hub_;
    Event computed_;
    Stream out_;
    Stream in_;
    std::vector<std::uint64_t> received_;
};

}  // namespace

std::vector<PipelineMessage> list_messages(const GraphPlan& plan,
                                           const std::vector<std::uint32_t>& worker_of_node,
                                           const std::vector<Segment>& segments,
                                           const PipelineTimetable& table) {
    std::vector<PipelineMessage> messages;
    for (std::size_t t = 0; t < table.tasks.size(); ++t) {
        const PipelineTask& task = table.tasks[t];
        const Segment& segment = segments[task.segment];
        if (task.backward) {
            for (std::size_t n = segment.last; n-- > segment.first;) {
                if (!plan.nodes[n].live) continue;
                for (const std::size_t producer : plan.nodes[n].inputs) {
                    if (producer == input_node || worker_of_node[producer] == segment.worker) {
                        continue;
                    }
                    messages.push_back({t, true, task.micro_batch, producer, n, segment.worker,
                                        worker_of_node[producer]});
                }
            }
            continue;
        }
        for (std::size_t n = segment.first; n < segment.last; ++n) {
            std::set<std::uint32_t> users;
            for (std::size_t c = n + 1; c < plan.nodes.size() && plan.nodes[n].live; ++c) {
                if (plan.nodes[c].live && std::ranges::count(plan.nodes[c].inputs, n) > 0) {
                    users.insert(worker_of_node[c]);
                }
            }
            users.erase(segment.worker);
            for (const std::uint32_t user : users) {
                messages.push_back({t, false, task.micro_batch, n, n, segment.worker, user});
            }
        }
    }
    return messages;
}

std::shared_ptr<TransportHub> make_transport_hub(const TransportOptions& options) {
    if (options.protocol == CommunicationProtocol::through_host) {
        return std::make_shared<HostHub>(options);
    }
    return std::make_shared<CommunicatorHub>(options);
}

std::unique_ptr<Transport> make_transport(const std::shared_ptr<TransportHub>& hub,
                                          const TransportOptions& options, std::uint32_t worker) {
    if (options.protocol == CommunicationProtocol::through_host) {
        return std::make_unique<HostTransport>(std::static_pointer_cast<HostHub>(hub), options,
                                               worker);
    }
    const auto& shared = static_cast<const CommunicatorHub&>(*hub);
    if (options.protocol == CommunicationProtocol::collective) {
        return std::make_unique<CollectiveTransport>(shared, options, worker);
    }
    return std::make_unique<PeerTransport>(shared, options, worker);
}

}  // namespace rondo::training
