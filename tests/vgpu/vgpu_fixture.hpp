// For tests that know that vgpu is below: they choose its options, break things, and leave a fresh
// machine behind.
#pragma once

#include "tests/vgpu/cuda_fixture.hpp"
#include "vgpu/control.hpp"

namespace test {

class VgpuTest : public testing::Test {
protected:
    /// A machine made from the environment (hostile mode, seed), with checks, as the tests start
    /// with it.
    static vgpu::Options from_environment() {
        vgpu::Options options = vgpu::Options::from_environment();
        options.check = true;
        return options;
    }
    /// What a test gets that wants to choose everything itself.
    static vgpu::Options plain() { return {.check = true}; }

    /// A fresh machine, kernels loaded on its first `devices` devices, device 0 current.
    static void start(const vgpu::Options& options, int devices = 2);
    void SetUp() override { start(from_environment()); }
    void TearDown() override {
        vgpu::clear_faults();
        vgpu::reset(vgpu::Options::from_environment());
        cudaGetLastError();
    }

    static int device_count();
    /// Peer access in both directions between the two.
    static void enable_peers(int first, int second);
};

}  // namespace test
