// Devices: count, properties, attributes, bus ids, selection, reset; peer access.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "vgpu/api.hpp"
#include "vgpu/properties.hpp"

using namespace vgpu;

namespace {

std::string bus_id(const cudaDeviceProp& properties) {
    return fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID, properties.pciBusID,
                       properties.pciDeviceID);
}

constexpr int driver_version = CUDART_VERSION;

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
    return api("cudaGetDeviceCount", [&](Machine& machine) {
        require(count != nullptr, "count is null");
        *count = machine.device_count();
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaSetDevice(int device) {
    return api("cudaSetDevice", [&](Machine& machine) {
        require_healthy(device_at(machine, device));
        this_thread().device = device;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
    return api("cudaGetDevice", [&](Machine&) {
        require(device != nullptr, "device is null");
        *device = this_thread().device;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned int, unsigned int) {
    return api("cudaInitDevice", [&](Machine& machine) {
        require_healthy(device_at(machine, device));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return api("cudaGetDeviceProperties", [&](Machine& machine) {
        require(properties != nullptr, "prop is null");
        *properties = device_at(machine, device).properties;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return api("cudaDeviceGetAttribute", [&](Machine& machine) {
        require(value != nullptr, "value is null");
        require(attribute_of(device_at(machine, device).properties, attribute, *value),
                "the attribute is unknown");
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* text, int length, int device) {
    return api("cudaDeviceGetPCIBusId", [&](Machine& machine) {
        const std::string id = bus_id(device_at(machine, device).properties);
        require(text != nullptr, "pciBusId is null");
        require(length > static_cast<int>(id.size()), "len is too small for a bus id");
        std::memcpy(text, id.c_str(), id.size() + 1);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int* device, const char* text) {
    return api("cudaDeviceGetByPCIBusId", [&](Machine& machine) {
        require(device != nullptr && text != nullptr, "device or pciBusId is null");
        // "domain:bus:device.function", "domain:bus:device" or "bus:device.function"
        unsigned domain = 0, bus = 0, slot = 0, function = 0;
        bool read = std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3;
        if (!read) {
            domain = 0;
            read = std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) == 3;
        }
        require(read, "pciBusId is not of the form domain:bus:device.function");
        for (int i = 0; i < machine.device_count(); ++i) {
            const cudaDeviceProp& p = machine.device(i).properties;
            if (static_cast<unsigned>(p.pciDomainID) == domain &&
                static_cast<unsigned>(p.pciBusID) == bus &&
                static_cast<unsigned>(p.pciDeviceID) == slot && function == 0) {
                *device = i;
                return cudaSuccess;
            }
        }
        throw ApiError{cudaErrorInvalidDevice, fmt::format("no device has the bus id {}", text)};
    });
}

cudaError_t CUDARTAPI cudaDeviceSynchronize() {
    return api("cudaDeviceSynchronize", [&](Machine& machine) {
        note_effect(CallEffect::may_synchronise);
        Device& device = current_device(machine);
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            forbid_while_capturing(machine);
        }
        wait_for_device(machine, device);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceReset() {
    return api("cudaDeviceReset", [&](Machine& machine) {
        note_effect(CallEffect::may_synchronise);
        Device& device = device_at(machine, this_thread().device);
        std::vector<OperationPtr> tails;
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            tails = tails_of(device);
        }
        machine.scheduler().wait(tails);
        machine.memory().release_device(device.index);
        std::scoped_lock lock(machine.scheduler().mutex());
        device.memory_used = 0;
        device.default_pool.used = device.default_pool.reserved = 0;
        device.pool = &device.default_pool;
        for (int other = 0; other < machine.device_count(); ++other) {
            device.peer_enabled[static_cast<std::size_t>(other)] = 0;
            machine.device(other).peer_enabled[static_cast<std::size_t>(device.index)] = 0;
        }
        std::erase_if(device.streams,
                      [&](Stream* stream) { return machine.streams.contains(stream); });
        std::erase_if(machine.streams,
                      [&](const auto& each) { return each.second->device == device.index; });
        machine.events.erase_those_of(device.index);
        device.legacy_stream.tail = nullptr;
        device.loaded_kernels.clear();
        device.sticky_error = device.lost ? cudaErrorDevicesUnavailable : cudaSuccess;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return api("cudaDeviceGetStreamPriorityRange", [&](Machine& machine) {
        current_device(machine);
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = -5;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags) {
    return api("cudaSetDeviceFlags", [&](Machine& machine) {
        require((flags & ~static_cast<unsigned>(cudaDeviceMask)) == 0, "flags has unknown bits");
        current_device(machine).flags = flags;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int* flags) {
    return api("cudaGetDeviceFlags", [&](Machine& machine) {
        require(flags != nullptr, "flags is null");
        *flags = current_device(machine).flags | cudaDeviceMapHost;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
    return api("cudaDriverGetVersion", [&](Machine&) {
        require(version != nullptr, "driverVersion is null");
        *version = driver_version;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
    return api("cudaRuntimeGetVersion", [&](Machine&) {
        require(version != nullptr, "runtimeVersion is null");
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

// ---- peer access
// ------------------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return api("cudaDeviceCanAccessPeer", [&](Machine& machine) {
        require(can != nullptr, "canAccessPeer is null");
        device_at(machine, device);
        device_at(machine, peer);
        *can = machine.can_access_peer(device, peer) ? 1 : 0;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    return api("cudaDeviceEnablePeerAccess", [&](Machine& machine) {
        Device& device = current_device(machine);
        Device& other = device_at(machine, peer);
        require(flags == 0, "flags must be 0");
        require_healthy(other);
        if (!machine.can_access_peer(device.index, peer)) {
            throw ApiError{
                peer == device.index ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported,
                fmt::format("device {} cannot reach device {}", device.index, peer)};
        }
        auto& enabled = device.peer_enabled[static_cast<std::size_t>(peer)];
        if (enabled.load() == 0) {
            may_synchronise(machine, device);
            may_synchronise(machine, other);
        }
        if (enabled.exchange(1) != 0)
            throw ApiError{cudaErrorPeerAccessAlreadyEnabled, fmt::format("peer {}", peer)};
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peer) {
    return api("cudaDeviceDisablePeerAccess", [&](Machine& machine) {
        Device& device = current_device(machine);
        Device& other = device_at(machine, peer);
        auto& enabled = device.peer_enabled[static_cast<std::size_t>(peer)];
        if (enabled.load() != 0) {
            may_synchronise(machine, device);
            may_synchronise(machine, other);
        }
        count_memory_change();
        if (enabled.exchange(0) == 0)
            throw ApiError{cudaErrorPeerAccessNotEnabled, fmt::format("peer {}", peer)};
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source,
                                                int destination) {
    return api("cudaDeviceGetP2PAttribute", [&](Machine& machine) {
        require(value != nullptr, "value is null");
        device_at(machine, source);
        device_at(machine, destination);
        if (source == destination)
            throw ApiError{cudaErrorInvalidDevice, "source and destination are the same device"};
        const bool reach = machine.can_access_peer(source, destination);
        switch (attribute) {
            case cudaDevP2PAttrPerformanceRank:
                *value = machine.peer_rank(source, destination);
                break;
            case cudaDevP2PAttrAccessSupported:
                *value = reach;
                break;
            case cudaDevP2PAttrNativeAtomicSupported:
                *value = reach && machine.directly_linked(source, destination);
                break;
            case cudaDevP2PAttrCudaArrayAccessSupported:
                *value = 0;
                break;
            default:
                throw ApiError{cudaErrorInvalidValue, "the attribute is unknown"};
        }
        return cudaSuccess;
    });
}

// The address of vgpu's own function, whoever's the name leads to.
extern cudaError_t vgpu_own_cudaGetDeviceCount(int*)
    __attribute__((alias("cudaGetDeviceCount"), visibility("hidden")));

}  // extern "C"
#pragma GCC visibility pop

// ---- two runtimes in one process
// --------------------------------------------------------------------------------------------

namespace vgpu {

namespace {

/// The file that holds an address.
std::string file_of(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "another library";
    return info.dli_fname;
}

/// Said when the program starts, because what follows are errors that name no reason: kernels that
/// nobody knows, or a machine without GPUs.
struct Warning {
    Warning() {
        if (const std::string text = other_runtime(); !text.empty())
            std::fprintf(stderr, "vgpu: %s\n", text.c_str());
    }
} const warning;

}  // namespace

std::string other_runtime() {
    const auto address = [](auto function) { return reinterpret_cast<const void*>(function); };
    const void* const own = address(&vgpu_own_cudaGetDeviceCount);
    const void* called = address(&cudaGetDeviceCount);  // by us
    if (called == own) {
        const void* by_others = dlsym(RTLD_DEFAULT, "cudaGetDeviceCount");
        if (by_others != nullptr) called = by_others;
    }
    if (called == own) return "";
    return fmt::format(
        "this process has two CUDA runtimes, and calls reach {} instead of vgpu: link only one of "
        "them, or vgpu's library first",
        file_of(called));
}

}  // namespace vgpu
