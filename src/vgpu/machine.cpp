// Builds the virtual machine from its options, and holds the one in force.
#include "vgpu/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "topology/graph/error.hpp"
#include "topology/graph/json.hpp"
#include "topology/graph/load.hpp"
#include "vgpu/properties.hpp"

namespace vgpu {

namespace {

/// Files of NCCL's are told apart from broken JSON; reading them needs more than this layer has.
rondo::Topology read_topology(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (first != std::string_view::npos && text[first] == '<') {
        throw rondo::TopologyError(
            "it is XML, and vgpu reads JSON; `rondo-topo convert FILE.xml FILE.json` makes JSON of "
            "NCCL's topology files");
    }
    return rondo::topology_from_json(text);
}

/// Whether what the GPU is linked by is the host's memory.
bool in_host_memory(const rondo::Topology& topology, int gpu) {
    const auto& links = topology.links();
    return std::any_of(links.begin(), links.end(), [&](const rondo::Link& link) {
        return link.source == topology.gpu_node(gpu) && link.kind == rondo::LinkKind::memory;
    });
}

}  // namespace

Machine::Machine(const Options& options, std::uint64_t generation)
    : options_(options),
      generation_(generation),
      topology_(rondo::load_topology(options.topology, read_topology)),
      direct_links_(topology_) {
    direct_links_.set_pci_peer_access(false);
    for (int i = 0; i < topology_.gpu_count(); ++i) make_device(i);
    scheduler_ = std::make_unique<Scheduler>(*this);
}

Machine::~Machine() {
    // Blocks use the pointer until the scheduler has ended: reset() would clear it before that.
    scheduler_.get_deleter()(scheduler_.get());
    scheduler_.release();
}

void Machine::make_device(int index) {
    auto device = std::make_unique<Device>();
    const rondo::Node& node =
        topology_.nodes()[static_cast<std::size_t>(topology_.gpu_node(index))];
    device->index = index;
    device->memory_limit = options_.memory_per_device > 0 ? options_.memory_per_device
                           : node.gpu.memory_bytes > 0
                               ? static_cast<std::size_t>(node.gpu.memory_bytes)
                               : std::size_t{16} << 30;
    int resident = options_.resident_blocks;
    if (resident == 0 && options_.hostile) resident = 32;
    device->properties = make_properties(node.gpu, index,
                                         {.memory = device->memory_limit,
                                          .in_host_memory = in_host_memory(topology_, index),
                                          .resident_blocks = resident});
    const cudaDeviceProp& properties = device->properties;
    const auto multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
    device->max_resident_blocks =
        multiprocessors * static_cast<std::size_t>(properties.maxBlocksPerMultiProcessor);
    device->max_resident_threads =
        multiprocessors * static_cast<std::size_t>(properties.maxThreadsPerMultiProcessor);
    device->peer_enabled =
        std::vector<std::atomic<char>>(static_cast<std::size_t>(topology_.gpu_count()));
    device->default_pool.device = index;
    device->default_pool.is_default = true;
    device->default_pool.access =
        std::vector<std::atomic<char>>(static_cast<std::size_t>(topology_.gpu_count()));
    device->default_pool.access[static_cast<std::size_t>(index)] = 1;
    device->pool = &device->default_pool;
    device->legacy_stream.device = index;
    device->legacy_stream.legacy = true;
    int queues = options_.hardware_queues;
    if (queues == 0 && options_.hostile) queues = 2;
    device->queue_tails.resize(static_cast<std::size_t>(queues));
    if (queues > 0) device->legacy_stream.hardware_queue = 0;
    devices_.push_back(std::move(device));
}

bool Machine::can_access_peer(int from, int to) const {
    return from != to && topology_.peer_access(from, to) && !faults_.link_is_cut(from, to);
}

/// The bandwidth of a direct link, else of all the links by which the device could leave towards
/// its peer.
std::int64_t Machine::peer_bandwidth(int from, int to) const {
    const bool direct = directly_linked(from, to);
    std::int64_t leaving = 0;
    for (const rondo::Link& link : topology_.links()) {
        const bool over_pci = link.kind == rondo::LinkKind::pci;
        if (link.source != topology_.gpu_node(from) || over_pci == direct) continue;
        if (link.target == topology_.gpu_node(to)) return link.nominal;
        const auto& target = topology_.nodes()[static_cast<std::size_t>(link.target)];
        if (target.type != rondo::NodeType::gpu) leaving += link.nominal;
    }
    return leaving;
}

int Machine::peer_rank(int from, int to) const {
    const std::int64_t mine = peer_bandwidth(from, to);
    std::set<std::int64_t> faster;
    for (int other = 0; other < device_count(); ++other) {
        if (!can_access_peer(from, other)) continue;
        const std::int64_t theirs = peer_bandwidth(from, other);
        if (theirs > mine) faster.insert(theirs);
    }
    return static_cast<int>(faster.size());
}

void Machine::update_instrumentation() const {
    const bool access = options_.check || faults_.any_link_cut();
    detail::instrumentation.access = access;
    detail::instrumentation.any = access || options_.seed.has_value() || faults_.any_block_fault();
}

void Machine::fail_device(int index, cudaError_t error, std::string report) {
    cudaError_t none = cudaSuccess;
    if (!device(index).sticky_error.compare_exchange_strong(none, error)) return;
    if (!report.empty()) set_report(std::move(report));
    scheduler_->kill_blocks(index);
}

cudaError_t Machine::run_copy(const CopyCommand& copy) {
    const bool between_devices = copy.source_device >= 0 && copy.destination_device >= 0 &&
                                 copy.source_device != copy.destination_device;
    if (between_devices && faults_.link_is_cut(copy.source_device, copy.destination_device)) {
        set_report(fmt::format("copy from device {} to device {}: the link between them is cut",
                               copy.source_device, copy.destination_device));
        return cudaErrorNvlinkUncorrectable;
    }
    const double factor =
        between_devices ? faults_.link_factor(copy.source_device, copy.destination_device) : 1.0;
    const auto begin = std::chrono::steady_clock::now();
    execute_copy(copy);
    if (factor > 1.0)
        std::this_thread::sleep_for((std::chrono::steady_clock::now() - begin) * (factor - 1.0));
    return cudaSuccess;
}

void Machine::release_pool_memory(void* pointer) {
    const auto freed = memory_.detach(pointer);
    if (!freed) return;
    frees.fetch_add(1, std::memory_order_relaxed);
    return_to_pool(*freed->pool, freed->bytes);
}

void Machine::return_to_pool(MemoryPool& pool, std::uint64_t bytes) {
    pool.used -= bytes;
    trim_pool(pool, pool.destroyed ? 0 : pool.release_threshold);
    if (pool.destroyed && pool.used == 0) pools.erase(&pool);
}

void Machine::trim_pool(MemoryPool& pool, std::uint64_t keep) {
    const std::uint64_t target = std::max(pool.used, std::min(keep, pool.reserved));
    device(pool.device).memory_used -= pool.reserved - target;
    pool.reserved = target;
}

void Machine::release_objects(const ObjectReferences& references) {
    for (const auto& [object, count] : references) {
        object->references -= std::min(count, object->references);
        if (object->references > 0) continue;
        HostFunctionCommand command;
        command.function = object->destroy;
        command.user_data = object->pointer;
        graphs.objects.erase(object);
        scheduler_->submit(Operation::make(0, command), {});
    }
}

void Machine::set_report(std::string text) {
    std::scoped_lock lock(report_mutex_);
    report_ = std::move(text);
}

std::string Machine::report() const {
    std::scoped_lock lock(report_mutex_);
    return report_;
}

std::string Machine::take_report() {
    std::scoped_lock lock(report_mutex_);
    return std::exchange(report_, {});
}

// ---- the machine in force
// ---------------------------------------------------------------------------------------------

std::atomic<Machine*> detail::in_force{nullptr};

namespace {

std::mutex making;
std::uint64_t machines_made = 0;
std::string environment_problem;  // why no machine can be made of it; written once

}  // namespace

Machine& detail::make_from_environment() {
    std::scoped_lock lock(making);
    if (Machine* existing = in_force.load()) return *existing;
    if (!environment_problem.empty()) throw MachineError(environment_problem);
    try {
        // Never deleted at exit: other threads may still be inside, and their blocks use it.
        in_force = new Machine(Options::from_environment(), ++machines_made);
        in_force.load()->update_instrumentation();
    } catch (const std::exception& error) {
        environment_problem = std::string("there is no virtual machine: ") + error.what();
        std::fprintf(stderr, "vgpu: %s\n", environment_problem.c_str());
        throw MachineError(environment_problem);
    }
    return *in_force.load();
}

const char* why_no_machine() {
    if (machine_if_any() != nullptr) return nullptr;
    std::scoped_lock lock(making);
    return environment_problem.empty() ? nullptr : environment_problem.c_str();
}

void replace_machine(const Options& options) {
    std::scoped_lock lock(making);
    auto next = std::make_unique<Machine>(options, ++machines_made);
    const std::unique_ptr<Machine> old(detail::in_force.exchange(next.release()));
    detail::in_force.load()->update_instrumentation();
}

}  // namespace vgpu
