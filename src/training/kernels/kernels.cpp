// The host bodies, for vgpu.
#include "training/kernels/entries.hpp"
