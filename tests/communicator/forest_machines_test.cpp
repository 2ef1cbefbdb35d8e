// Forests as they are chosen for large messages on real machines, run on virtual GPUs that are
// wired like these: proved, and exact.
#include <bit>

#include "strategy/planner.hpp"
#include "tests/communicator/fixture.hpp"
#include "vgpu/control.hpp"

namespace rondo::test {
namespace {

/// Small integers, different on every rank; their sum is exact.
PerReplica<float> numbers_on(const std::vector<int>& devices, std::size_t count) {
    std::vector<Tensor<float>> tensors;
    for (const int device : devices) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(device) * 13) % 101);
        }
        tensors.push_back(tensor_on(device, values));
    }
    return PerReplica<float>(std::move(tensors));
}

/// Over NVLink or XGMI where these join all.
void expect_exact(const Topology& topology, const std::vector<int>& gpus) {
    RoutingOptions routing{.gpus = gpus, .fabric_only = true};
    routing.fabric_only = Planner(topology, routing).bound({.bytes = 1}) != 0;
    const Planner planner(topology, routing);
    const Task task{.bytes = 256 << 20};
    const Schedule schedule =
        planner.schedule(task, planner.choose(task, Strategy::forest()).chosen());
    EXPECT_EQ(verify(schedule).problem, "");

    CommunicatorOptions options{.devices = gpus, .timeout = std::chrono::seconds(60)};
    options.tuning.slot_bytes = 256;  // so that a small message has several chunks
    Communicator comm = Communicator::create(options);
    const std::uint32_t number = comm.add_schedule(schedule);
    const PerReplica<float> value = numbers_on(gpus, schedule.unit_shares.size() * 200 + 1);
    const std::vector<float> sum = sum_of(value);
    comm.all_reduce(ReduceOp::sum, value, {.schedule = number}).wait();
    for (const Tensor<float>& tensor : value) EXPECT_EQ(values_of(tensor), sum);
}

Topology start_machine(const std::string& preset) {
    vgpu::Options options = vgpu::Options::from_environment();
    options.topology = preset;
    options.memory_per_device = std::size_t{64} << 20;
    vgpu::reset(options);
    return load_topology(preset);
}

TEST(ForestMachines, AllPresets) {
    for (const std::string& preset : preset_names()) {
        SCOPED_TRACE(preset);
        const Topology topology = start_machine(preset);
        std::vector<int> gpus;
        for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) gpus.push_back(gpu);
        expect_exact(topology, gpus);
    }
}

TEST(ForestMachines, AllAllocationsOfADgx1) {
    const Topology topology = start_machine("dgx1_v100");
    int allocations = 0;
    for (unsigned mask = 0; mask < 256; ++mask) {
        if (std::popcount(mask) < 3) continue;
        SCOPED_TRACE("GPUs " + std::to_string(mask));
        std::vector<int> gpus;
        for (int gpu = 0; gpu < 8; ++gpu) {
            if ((mask >> gpu & 1) != 0) gpus.push_back(gpu);
        }
        expect_exact(topology, gpus);
        ++allocations;
    }
    EXPECT_EQ(allocations, 219);
}

}  // namespace
}  // namespace rondo::test
