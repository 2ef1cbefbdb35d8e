// Made-up machines for detection: what the kernel, NVML and CUDA would say.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "topology/detect/detect.hpp"
#include "vgpu/control.hpp"

namespace rondo::testing {

using Files = std::map<std::string, std::string>;

/// Files of a PCI device.
inline Files pci_files(const std::string& device_class, const std::string& vendor, int numa = 0) {
    return {{"class", device_class},        {"vendor", vendor},
            {"device", "0x1234"},           {"subsystem_vendor", vendor},
            {"subsystem_device", "0x0001"}, {"max_link_speed", "8.0 GT/s PCIe"},
            {"max_link_width", "16"},       {"numa_node", std::to_string(numa)}};
}

inline Files gpu_files(int numa = 0) {
    return pci_files("0x030200", "0x10de", numa);
}
inline Files bridge_files(int numa = 0) {
    return pci_files("0x060400", "0x10b5", numa);
}

/// A folder that looks like the root of a machine, and a file for the fake NVML. Each test starts
/// with a fresh vgpu.
class DetectTest : public ::testing::Test {
protected:
    DetectTest() { setenv("FAKE_NVML_FILE", (root_ / "nvml").c_str(), 1); }
    ~DetectTest() override { vgpu::reset(); }

    void use_vgpu(const std::string& topology) {
        vgpu::Options options = vgpu::Options::from_environment();
        options.topology = topology;
        vgpu::reset(options);
    }

    void write(const std::filesystem::path& file, const std::string& text) const {
        folder_.write(file, text + "\n");
    }

    /// The last bus id of `path` gets the files; all before it are the bridges above.
    std::filesystem::path add_device(const std::vector<std::string>& path, const Files& files) {
        std::filesystem::path folder =
            std::filesystem::path("sys/devices") / ("pci" + path.front().substr(0, 7));
        for (const std::string& bus_id : path) folder /= bus_id;
        for (const auto& [name, text] : files) write(folder / name, text);
        std::filesystem::create_directories(root_ / "sys/bus/pci/devices");
        std::filesystem::create_directories(root_ / folder);
        std::filesystem::create_symlink(std::filesystem::path("../../../..") / folder,
                                        root_ / "sys/bus/pci/devices" / path.back());
        return folder;
    }

    void add_cpus(int domains, const std::string& vendor, int family, int model) {
        for (int domain = 0; domain < domains; ++domain) {
            write(fmt::format("sys/devices/system/node/node{}/cpumap", domain), "ff");
        }
        write("proc/cpuinfo", fmt::format("processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\n"
                                          "model\t\t: {}\nmodel name\t: made up\n",
                                          vendor, family, model));
    }

    void nvml(const std::string& text) const { write("nvml", text); }

    DetectOptions options(bool with_nvml = false) const {
        DetectOptions options;
        options.root = root_;
        options.hwloc = false;
        options.nvml_library = with_nvml ? FAKE_NVML : "";
        return options;
    }

    TemporaryFolder folder_;
    const std::filesystem::path root_ = folder_.path();
};

/// The link from one node to another, by their ids; its count is 0 if there is none.
inline Link link_between(const Topology& topology, const std::string& from, const std::string& to) {
    for (const Link& link : topology.links()) {
        if (topology.nodes()[link.source].id == from && topology.nodes()[link.target].id == to) {
            return link;
        }
    }
    Link none;
    none.count = 0;
    return none;
}

/// Where a fact comes from; fails the test if there is none.
inline FactSource source_of(const Detection& detection, const std::string& subject,
                            const std::string& what) {
    for (const Fact& fact : detection.facts) {
        if (fact.subject == subject && fact.what == what) return fact.source;
    }
    ADD_FAILURE() << "nothing is said about " << what << " of " << subject;
    return FactSource::estimate;
}

}  // namespace rondo::testing
