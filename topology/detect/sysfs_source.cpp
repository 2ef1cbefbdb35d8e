// What the Linux kernel tells in /sys: the PCI tree and the NICs.
#include "topology/detect/sysfs_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/sysfs_files.hpp"
#include "topology/graph/validate.hpp"
#include "topology/xml/rules.hpp"

namespace rondo::detection {
namespace {

namespace fs = std::filesystem;

/// The bus ids in the path of a device: those of the bridges above it.
std::vector<std::string> bridges_in(const fs::path& device) {
    std::vector<std::string> bridges;
    for (const fs::path& part : device.parent_path()) {
        if (is_bus_id(part.string())) bridges.push_back(part.string());
    }
    return bridges;
}

/// The slower of the device and the port above it, as NCCL has it.
void read_link(const fs::path& device, PciInfo& info) {
    const std::string speed = first_line(device / "max_link_speed");
    const int width = number_in(device / "max_link_width").value_or(0);
    const std::string port_speed = first_line(device.parent_path() / "max_link_speed");
    const int port_width = number_in(device.parent_path() / "max_link_width").value_or(0);
    const bool known = speed.find("GT/s") != std::string::npos;
    const bool port_known = port_speed.find("GT/s") != std::string::npos;
    if (known) info.link_speed = speed;
    if (port_known && (!known || pci_bandwidth(port_speed, 1).nccl < pci_bandwidth(speed, 1).nccl))
        info.link_speed = port_speed;
    const auto sensible = [](int lanes) { return lanes >= 1 && lanes <= 32; };
    if (sensible(width)) info.link_width = width;
    if (sensible(port_width) && (!sensible(width) || port_width < width))
        info.link_width = port_width;
}

PciDevice read_device(const fs::path& device) {
    PciDevice result;
    result.info = {.bus_id = device.filename().string(),
                   .device_class = first_line(device / "class"),
                   .vendor = first_line(device / "vendor"),
                   .device = first_line(device / "device"),
                   .subsystem_vendor = first_line(device / "subsystem_vendor"),
                   .subsystem_device = first_line(device / "subsystem_device")};
    read_link(device, result.info);
    result.above = bridges_in(device);
    result.numa = std::max(-1, number_in(device / "numa_node").value_or(-1));
    return result;
}

/// "200 Gb/sec (4X HDR)" in Mbit/s; 0 if it is something else.
int megabits(const std::string& rate) {
    const auto gigabits = leading_number(rate);
    if (!gigabits || *gigabits <= 0 || *gigabits > 1'000'000) return 0;
    if (rate.find("Gb/sec") == std::string::npos) return 0;
    const bool half = rate.find(".5 ") != std::string::npos;  // 2.5 Gb/sec
    return *gigabits * 1000 + (half ? 500 : 0);
}

void add_infiniband_ports(const fs::path& device, Nic& nic) {
    for (const std::string& name : names_in(device / "infiniband")) {
        const fs::path folder = device / "infiniband" / name;
        for (const std::string& number : names_in(folder / "ports")) {
            NicPort port;
            port.net.name = name;
            port.net.guid = first_line(folder / "node_guid");
            port.net.port = leading_number(number);
            port.megabits_per_second = megabits(first_line(folder / "ports" / number / "rate"));
            nic.ports.push_back(std::move(port));
        }
    }
}

void add_ethernet_ports(const fs::path& device, Nic& nic) {
    for (const std::string& name : names_in(device / "net")) {
        NicPort port;
        port.net.name = name;
        port.megabits_per_second =
            std::max(0, number_in(device / "net" / name / "speed").value_or(0));
        nic.ports.push_back(std::move(port));
    }
}

Nic read_nic(const fs::path& device) {
    Nic nic{.bus_id = device.filename().string(), .ports = {}};
    add_infiniband_ports(device, nic);
    if (nic.ports.empty()) add_ethernet_ports(device, nic);
    return nic;
}

}  // namespace

SysfsFacts read_sysfs(const fs::path& root) {
    SysfsFacts facts;
    facts.cpus = read_cpus(root);
    const fs::path folder = root / "sys/bus/pci/devices";
    for (const std::string& name : names_in(folder)) {
        std::error_code error;
        const fs::path device = fs::canonical(folder / name, error);
        if (error || !is_bus_id(name) || device.filename() != name) continue;
        PciDevice found = read_device(device);
        if (pci_class(found.info.device_class) == PciClass::nic) {
            Nic nic = read_nic(device);
            if (!nic.ports.empty()) facts.nics.push_back(std::move(nic));
        }
        facts.devices.emplace(name, std::move(found));
    }
    int number = 0;
    for (Nic& nic : facts.nics) {
        for (NicPort& port : nic.ports) port.net.device = number++;
    }
    if (facts.devices.empty()) {
        facts.problem = fmt::format("no PCI devices in {}", folder.string());
    }
    return facts;
}

}  // namespace rondo::detection
