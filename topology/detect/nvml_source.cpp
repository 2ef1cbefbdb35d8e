// What NVIDIA's management library tells: the NVLinks. It is loaded at run time, if it is there.
#include "topology/detect/nvml_source.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <stdexcept>

#include "topology/detect/nvml_api.hpp"

namespace rondo::detection {
namespace {

struct Unload {
    void operator()(void* library) const { dlclose(library); }
};

/// "00000000:06:00.0" as the rest of the machine writes it: "0000:06:00.0". Larger domains keep
/// their digits.
std::string plain_bus_id(const nvml::PciInfo& info) {
    return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

class Library {
public:
    explicit Library(const std::string& name)
        : library_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!library_) throw std::runtime_error(dlerror());
        check(required<nvml::Init>("nvmlInit_v2")(), "nvmlInit_v2");
        started_ = true;
    }
    ~Library() {
        if (!started_) return;
        const auto shutdown = optional<nvml::Shutdown>("nvmlShutdown");
        if (shutdown != nullptr) shutdown();
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <class Function>
    Function optional(const char* name) const {
        return reinterpret_cast<Function>(dlsym(library_.get(), name));
    }

    template <class Function>
    Function required(const char* name) const {
        const auto function = optional<Function>(name);
        if (function == nullptr) throw std::runtime_error(std::string(name) + " is missing");
        return function;
    }

    void check(nvml::Return status, const char* call) const {
        if (status == nvml::success) return;
        const auto words = optional<nvml::ErrorString>("nvmlErrorString");
        throw std::runtime_error(fmt::format("{} returned {} ({})", call, status,
                                             words != nullptr ? words(status) : "no description"));
    }

private:
    std::unique_ptr<void, Unload> library_;
    bool started_ = false;
};

class Reader {
public:
    explicit Reader(const std::string& name)
        : library_(name),
          link_state_(library_.optional<nvml::GetLinkUnsigned>("nvmlDeviceGetNvLinkState")),
          link_version_(library_.optional<nvml::GetLinkUnsigned>("nvmlDeviceGetNvLinkVersion")),
          link_type_(
              library_.optional<nvml::GetLinkUnsigned>("nvmlDeviceGetNvLinkRemoteDeviceType")),
          link_pci_(
              library_.optional<nvml::GetLinkPciInfo>("nvmlDeviceGetNvLinkRemotePciInfo_v2")) {}

    std::vector<NvmlGpu> run() {
        unsigned count = 0;
        library_.check(library_.required<nvml::GetCount>("nvmlDeviceGetCount_v2")(&count),
                       "nvmlDeviceGetCount_v2");
        std::vector<NvmlGpu> gpus;
        for (unsigned index = 0; index < count; ++index) gpus.push_back(read_gpu(index));
        return gpus;
    }

private:
    NvmlGpu read_gpu(unsigned index) const {
        nvml::Device device = nullptr;
        library_.check(library_.required<nvml::GetHandleByIndex>("nvmlDeviceGetHandleByIndex_v2")(
                           index, &device),
                       "nvmlDeviceGetHandleByIndex_v2");
        nvml::PciInfo pci{};
        library_.check(library_.required<nvml::GetPciInfo>("nvmlDeviceGetPciInfo_v3")(device, &pci),
                       "nvmlDeviceGetPciInfo_v3");
        NvmlGpu gpu{.bus_id = plain_bus_id(pci), .name = name_of(device)};
        gpu.pci_generation = number(device, "nvmlDeviceGetMaxPcieLinkGeneration");
        gpu.pci_width = number(device, "nvmlDeviceGetMaxPcieLinkWidth");
        for (unsigned link = 0; link < nvml::max_links; ++link) read_link(device, link, gpu);
        return gpu;
    }

    std::string name_of(nvml::Device device) const {
        std::array<char, 96> text{};
        const auto get = library_.optional<nvml::GetName>("nvmlDeviceGetName");
        if (get == nullptr || get(device, text.data(), text.size()) != nvml::success) return "";
        text.back() = '\0';
        return text.data();
    }

    /// 0 where the library does not tell.
    int number(nvml::Device device, const char* call) const {
        unsigned value = 0;
        const auto get = library_.optional<nvml::GetUnsigned>(call);
        const bool known = get != nullptr && get(device, &value) == nvml::success;
        return known ? static_cast<int>(value) : 0;
    }

    /// A link that the GPU does not have gives an error, one that is not up another state.
    void read_link(nvml::Device device, unsigned link, NvmlGpu& gpu) const {
        unsigned state = 0;
        if (link_state_ == nullptr || link_state_(device, link, &state) != nvml::success) return;
        if (state != nvml::feature_enabled) {
            ++gpu.links_down;
            return;
        }
        Nvlink found;
        unsigned value = 0;
        if (link_version_ != nullptr && link_version_(device, link, &value) == nvml::success) {
            found.version = static_cast<int>(value);
        }
        nvml::PciInfo pci{};
        if (link_pci_ != nullptr && link_pci_(device, link, &pci) == nvml::success) {
            found.bus_id = plain_bus_id(pci);
        }
        found.end = end_of(device, link);
        gpu.links.push_back(std::move(found));
    }

    NvlinkEnd end_of(nvml::Device device, unsigned link) const {
        unsigned type = 0;
        if (link_type_ == nullptr || link_type_(device, link, &type) != nvml::success) {
            return NvlinkEnd::unknown;
        }
        switch (type) {
            case nvml::remote_gpu:
                return NvlinkEnd::gpu;
            case nvml::remote_ibmnpu:
                return NvlinkEnd::cpu;
            case nvml::remote_switch:
                return NvlinkEnd::nvswitch;
            default:
                return NvlinkEnd::unknown;
        }
    }

    Library library_;
    nvml::GetLinkUnsigned link_state_;
    nvml::GetLinkUnsigned link_version_;
    nvml::GetLinkUnsigned link_type_;
    nvml::GetLinkPciInfo link_pci_;
};

}  // namespace

NvmlFacts read_nvml(const std::string& library) {
    NvmlFacts facts;
    if (library.empty()) {
        facts.problem = "not asked";
        return facts;
    }
    try {
        facts.gpus = Reader(library).run();
        if (facts.gpus.empty()) facts.problem = "no device";
    } catch (const std::exception& error) {
        facts = {};
        facts.problem = error.what();
    }
    return facts;
}

}  // namespace rondo::detection
