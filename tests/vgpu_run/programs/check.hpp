// What the programs share: a failed call or a wrong value ends them with a message and status 1.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

inline void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}

template <class T>
void expect_equal(T is, T should, const char* what, std::size_t at) {
    if (is == should) return;
    std::fprintf(stderr, "%s at %zu is %g, should be %g\n", what, at, static_cast<double>(is),
                 static_cast<double>(should));
    std::exit(1);
}

/// Device memory with the values of a host array.
template <class T>
T* to_device(const T* values, std::size_t count) {
    T* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    check(cudaMemcpy(memory, values, count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

template <class T>
void to_host(T* values, const T* memory, std::size_t count) {
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(values, memory, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
}
