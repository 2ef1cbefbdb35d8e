// How the runtime finds functions of the driver API, where there is one.
#pragma once

namespace vgpu {

/// Null when there is no such function.
using DriverEntrySource = void* (*)(const char* name);
/// Asked by cudaGetDriverEntryPoint from now on.
void set_driver_entry_source(DriverEntrySource source);

}  // namespace vgpu
