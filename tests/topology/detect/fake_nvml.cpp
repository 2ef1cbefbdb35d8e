// A stand-in for NVIDIA's management library. The file named by FAKE_NVML_FILE says what it knows:
//   init CODE                                    what nvmlInit_v2 returns
//   gpu DOMAIN:BUS:DEVICE GENERATION WIDTH       the next GPU, in hexadecimal, then decimal
//   link NUMBER STATE TYPE DOMAIN:BUS:DEVICE VERSION   of the last GPU; "-" hides the other end
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "topology/detect/nvml_api.hpp"

namespace {

using namespace rondo::detection::nvml;

struct FakeLink {
    unsigned state = 0;
    unsigned type = 0;
    std::string bus_id;
    unsigned version = 0;
};

struct FakeGpu {
    std::string bus_id;
    unsigned generation = 0;
    unsigned width = 0;
    std::map<unsigned, FakeLink> links;
};

struct Machine {
    int init = 0;
    std::vector<FakeGpu> gpus;
};

Machine& machine() {
    static Machine instance;
    return instance;
}

constexpr Return error_not_found = 6;
constexpr Return error_not_supported = 3;

void read_machine() {
    machine() = {};
    const char* const name = std::getenv("FAKE_NVML_FILE");
    std::ifstream file(name != nullptr ? name : "");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "init") words >> machine().init;
        if (word == "gpu") {
            FakeGpu gpu;
            words >> gpu.bus_id >> gpu.generation >> gpu.width;
            machine().gpus.push_back(gpu);
        }
        if (word == "link") {
            unsigned number = 0;
            FakeLink link;
            words >> number >> link.state >> link.type >> link.bus_id >> link.version;
            machine().gpus.back().links[number] = link;
        }
    }
}

FakeGpu& gpu_of(Device device) {
    return machine().gpus.at(reinterpret_cast<std::size_t>(device) - 1);
}

const FakeLink* link_of(Device device, unsigned number) {
    const auto found = gpu_of(device).links.find(number);
    return found == gpu_of(device).links.end() ? nullptr : &found->second;
}

Return fill(const std::string& bus_id, PciInfo* info) {
    *info = {};
    if (std::sscanf(bus_id.c_str(), "%x:%x:%x", &info->domain, &info->bus, &info->device) != 3) {
        return error_not_supported;
    }
    std::snprintf(info->bus_id, sizeof(info->bus_id), "%08X:%02X:%02X.0", info->domain, info->bus,
                  info->device);
    return success;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
    read_machine();
    return machine().init;
}
Return nvmlShutdown() {
    return success;
}
const char* nvmlErrorString(Return) {
    return "a made-up error";
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
    *count = static_cast<unsigned>(machine().gpus.size());
    return success;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    *device = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1);
    return success;
}
Return nvmlDeviceGetName(Device, char* text, unsigned length) {
    std::snprintf(text, length, "Fake GPU");
    return success;
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
    return fill(gpu_of(device).bus_id, info);
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* value) {
    *value = gpu_of(device).generation;
    return *value > 0 ? success : error_not_supported;
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* value) {
    *value = gpu_of(device).width;
    return *value > 0 ? success : error_not_supported;
}
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* state) {
    if (link_of(device, link) == nullptr) return error_not_found;
    *state = link_of(device, link)->state;
    return success;
}
Return nvmlDeviceGetNvLinkVersion(Device device, unsigned link, unsigned* version) {
    if (link_of(device, link) == nullptr) return error_not_found;
    *version = link_of(device, link)->version;
    return success;
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, unsigned* type) {
    if (link_of(device, link) == nullptr) return error_not_found;
    *type = link_of(device, link)->type;
    return success;
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* info) {
    if (link_of(device, link) == nullptr) return error_not_found;
    return fill(link_of(device, link)->bus_id, info);
}
}
