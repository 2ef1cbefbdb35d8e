// Device code of the copy and barrier kernels.
#include "kernels/transfer_entries.hpp"
