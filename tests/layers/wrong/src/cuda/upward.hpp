// Breaks the order of the layers on purpose: the test layers_upward_include_is_found expects this
// to be reported.
#pragma once

#include "cuda/own_layer.hpp"
#include "kernels/reduce.hpp"
