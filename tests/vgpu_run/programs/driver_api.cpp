// A program of the driver API alone, with PTX of its own: nothing here was compiled by nvcc.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>

namespace {

constexpr const char* ptx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 calls = 5;
.visible .entry scale(.param .u64 data, .param .u32 factor, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [factor];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p, %r6, %r2;
    @%p bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r7, [%rd4];
    mul.lo.u32 %r7, %r7, %r1;
    st.global.u32 [%rd4], %r7;
    setp.ne.u32 %p, %r6, 0;
    @%p bra done;
    mov.u64 %rd1, calls;
    atom.global.add.u32 %r7, [%rd1], 1;
done:
    ret;
}
)";

void check(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    const char* name = "?";
    cuGetErrorName(result, &name);
    std::fprintf(stderr, "%s: %s\n", what, name);
    std::exit(1);
}

void expect(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

}  // namespace

int main() {
    CUdevice device;
    CUcontext context, current = nullptr;
    CUmodule module;
    CUfunction scale;
    int devices = 0;
    expect(cuDeviceGetCount(&devices) == CUDA_ERROR_NOT_INITIALIZED, "a call before cuInit");
    check(cuInit(0), "cuInit");
    check(cuDeviceGetCount(&devices), "cuDeviceGetCount");
    expect(devices >= 2, "number of devices");
    check(cuDeviceGet(&device, 1), "cuDeviceGet");
    CUdeviceptr memory = 0;
    expect(cuMemAlloc(&memory, 4) == CUDA_ERROR_INVALID_CONTEXT, "a call without a context");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxPushCurrent(context), "cuCtxPushCurrent");
    check(cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    expect(current == context, "the current context");

    check(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    expect(cuModuleGetFunction(&scale, module, "shrink") == CUDA_ERROR_NOT_FOUND,
           "an unknown kernel");
    check(cuModuleGetFunction(&scale, module, "scale"), "cuModuleGetFunction");
    constexpr unsigned count = 1000;
    std::vector<unsigned> values(count);
    for (unsigned i = 0; i < count; ++i) values[i] = i;
    check(cuMemAlloc(&memory, count * sizeof(unsigned)), "cuMemAlloc");
    check(cuMemcpyHtoD(memory, values.data(), count * sizeof(unsigned)), "cuMemcpyHtoD");
    unsigned factor = 3, n = count;
    void* arguments[] = {&memory, &factor, &n};
    check(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr),
          "cuLaunchKernel");

    // The same with all arguments in one buffer.
    struct {
        CUdeviceptr data;
        unsigned factor, count;
    } packed{memory, 2, count};
    std::size_t bytes = sizeof(packed);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    check(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra), "cuLaunchKernel");
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    check(cuMemcpyDtoH(values.data(), memory, count * sizeof(unsigned)), "cuMemcpyDtoH");
    for (unsigned i = 0; i < count; ++i) expect(values[i] == 6 * i, "a product");

    CUdeviceptr variable = 0;
    unsigned calls = 0;
    check(cuModuleGetGlobal(&variable, &bytes, module, "calls"), "cuModuleGetGlobal");
    check(cuMemcpyDtoH(&calls, variable, sizeof(calls)), "cuMemcpyDtoH");
    expect(bytes == 4 && calls == 7, "the variable");
    void* function = nullptr;
    CUdriverProcAddressQueryResult found;
    check(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &found), "cuGetProcAddress");
    expect(found == CU_GET_PROC_ADDRESS_SUCCESS && function == reinterpret_cast<void*>(&cuMemAlloc),
           "cuMemAlloc by its name");
    check(cuMemFree(memory), "cuMemFree");
    check(cuModuleUnload(module), "cuModuleUnload");
    check(cuCtxPopCurrent(nullptr), "cuCtxPopCurrent");
    check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    std::printf("driver_api: right\n");
}
