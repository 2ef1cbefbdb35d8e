// The device code.
#include "training/kernels/entries.hpp"
