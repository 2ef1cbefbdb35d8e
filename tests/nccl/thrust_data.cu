// On the device.
#include "tests/nccl/thrust_data_body.hpp"
