// On the host, which is the device of virtual GPUs.
#include "training/sync/merge_body.hpp"
