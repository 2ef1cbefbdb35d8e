// The only source of libcudart.so.13, libcuda.so.1 and libnvidia-ml.so.1: they are names by which
// programs find libvgpu.so, which has the functions of all of them.
