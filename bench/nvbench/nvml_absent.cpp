// What nvbench asks NVML for, answered with "there is no NVML": for machines without NVIDIA's
// driver.
extern "C" {

constexpr int nvml_library_not_found = 12;

int nvmlInit_v2() {
    return nvml_library_not_found;
}
int nvmlShutdown() {
    return nvml_library_not_found;
}
int nvmlDeviceGetHandleByPciBusId_v2() {
    return nvml_library_not_found;
}
int nvmlDeviceResetGpuLockedClocks() {
    return nvml_library_not_found;
}
int nvmlDeviceSetGpuLockedClocks() {
    return nvml_library_not_found;
}
int nvmlDeviceSetPersistenceMode() {
    return nvml_library_not_found;
}
const char* nvmlErrorString(int) {
    return "there is no NVML";
}
}
