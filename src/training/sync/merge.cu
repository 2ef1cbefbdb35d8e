// On the device.
#include "training/sync/merge_body.hpp"
