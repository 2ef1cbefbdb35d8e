// On the host.
#include "tests/nccl/thrust_data_body.hpp"
