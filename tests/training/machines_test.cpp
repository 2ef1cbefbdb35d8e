// Training on machines of every kind that there is a preset of, and with every number of devices:
// the parameters are those of one device.
#include <algorithm>

#include <cuda_runtime_api.h>

#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/training/support.hpp"
#include "vgpu/control.hpp"

namespace rondo::training::test {
namespace {

const char* const machines[] = {"dgx1_p100",   "dgx1_v100",   "dgx2_v100",   "dgx_a100",
                                "dgx_a100_x2", "dgx_a100_x4", "pcie4_nop2p", "gb200_nvl72_1sw",
                                "hgx_h100",    "host",        "mi250_16gcd", "pcie8_2sw",
                                "pcie8_4sw"};

/// Hostile, seeded or checked, as the variant of the test says; another machine.
void become(const std::string& machine) {
    vgpu::Options options = vgpu::Options::from_environment();
    options.topology = machine;
    vgpu::reset(options);
}

std::uint32_t devices() {
    int count = 0;
    cudaGetDeviceCount(&count);
    return static_cast<std::uint32_t>(count);
}

class Machines : public ::testing::Test {
protected:
    ~Machines() override { vgpu::reset(vgpu::Options::from_environment()); }

    /// 37 samples in batches of 13: nothing divides.
    std::vector<float> parameters_by(const TrainingStrategy& strategy) const {
        return train(graph_, strategy, data_,
                     {.epochs = 3, .batch_size = 13, .optimizer = Sgd{0.1, 0.9}, .seed = 5})
            .parameters;
    }
    void expect_equal_to_local(const TrainingStrategy& strategy) const {
        SCOPED_TRACE(to_string(strategy));
        EXPECT_LT(distance(parameters_by(Local{}), parameters_by(strategy)), 1e-5);
    }

    const Table data_ = synthetic::digits(37, 0.3f, 1);
    const Graph graph_ = dense_network(std::vector<std::uint32_t>{11, 7}, 10);
    const ModelParallel pipeline_{.partitions = {{{"dense0"}, 0},
                                                 {{"activation0", "dense1"}, 1},
                                                 {{"activation1"}, 0},
                                                 {{"dense2"}, 2}},
                                  .micro_batches = 3};
};

TEST_F(Machines, OfEveryPresetTrainAlike) {
    for (const char* const machine : machines) {
        SCOPED_TRACE(machine);
        become(machine);
        if (devices() > 1) expect_equal_to_local(DataParallel{std::min(devices(), 8u)});
        if (devices() < 3) continue;
        const auto local = [&] {
            ModelParallel one = pipeline_;
            for (Partition& partition : one.partitions) partition.worker = 0;
            return parameters_by(one);
        }();
        for (const auto protocol :
             {CommunicationProtocol::peer_to_peer, CommunicationProtocol::through_host,
              CommunicationProtocol::collective}) {
            ModelParallel pipeline = pipeline_;
            pipeline.communication = protocol;
            EXPECT_EQ(parameters_by(pipeline), local) << to_string(protocol);
        }
    }
}

TEST_F(Machines, WithAnyNumberOfDevicesTrainAlike) {
    for (std::uint32_t count = 1; count <= 8; ++count) {
        SCOPED_TRACE(count);
        become(std::to_string(count));
        expect_equal_to_local(DataParallel{count});
        if (count < 2) continue;
        const ModelParallel halves{.partitions = {{{"dense0", "activation0"}, 0},
                                                  {{"dense1", "activation1", "dense2"}, 1}},
                                   .micro_batches = count};
        expect_equal_to_local(halves);
    }
}

}  // namespace
}  // namespace rondo::training::test
