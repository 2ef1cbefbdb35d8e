// The part of NVML's binary interface that detection uses, written down here because the header is
// not on every machine. Names and values are NVIDIA's (nvml.h).
#pragma once

namespace rondo::detection::nvml {

using Device = struct nvmlDevice_st*;
using Return = int;

constexpr Return success = 0;
constexpr unsigned max_links = 18;  ///< NVML_NVLINK_MAX_LINKS
constexpr unsigned feature_enabled = 1;

/// nvmlIntNvLinkDeviceType_t
constexpr unsigned remote_gpu = 0;
constexpr unsigned remote_ibmnpu = 1;  ///< a POWER CPU
constexpr unsigned remote_switch = 2;

/// nvmlPciInfo_t
struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    char bus_id[32];
};

using Init = Return (*)();
using Shutdown = Return (*)();
using ErrorString = const char* (*)(Return);
using GetCount = Return (*)(unsigned*);
using GetHandleByIndex = Return (*)(unsigned, Device*);
using GetName = Return (*)(Device, char*, unsigned);
using GetPciInfo = Return (*)(Device, PciInfo*);
using GetUnsigned = Return (*)(Device, unsigned*);
using GetLinkUnsigned = Return (*)(Device, unsigned link, unsigned*);
using GetLinkPciInfo = Return (*)(Device, unsigned link, PciInfo*);

}  // namespace rondo::detection::nvml
