// Calls functions that vgpu does not have: they fail, and are named once.
#include <cuda.h>

int main() {
    CUmulticastObjectProp properties{};
    std::size_t granularity = 0;
    bool right = true;
    for (int i = 0; i < 2; ++i) {
        right = right && cuMulticastGetGranularity(&granularity, &properties,
                                                   CU_MULTICAST_GRANULARITY_MINIMUM) ==
                             CUDA_ERROR_NOT_SUPPORTED;
    }
    CUtexObject texture = 0;
    right = right && cuTexObjectDestroy(texture) == CUDA_ERROR_NOT_SUPPORTED;
    // Nobody gets a function that is not there.
    void* function = nullptr;
    CUdriverProcAddressQueryResult found;
    right =
        right && cuGetProcAddress("cuMulticastCreate", &function, 12010, 0, &found) == CUDA_SUCCESS;
    return right && function == nullptr && found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND ? 0 : 1;
}
