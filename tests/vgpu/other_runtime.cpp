// A second CUDA runtime, as far as it takes calls away.
#include <cuda_runtime_api.h>

extern "C" __attribute__((visibility("default"))) cudaError_t CUDARTAPI
cudaGetDeviceCount(int* count) {
    *count = 0;
    return cudaErrorNoDevice;
}
