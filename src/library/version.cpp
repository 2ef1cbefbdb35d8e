// The version, as the build knows it.
#include "rondo/version.hpp"

namespace rondo {

std::string_view version() noexcept {
    return RONDO_VERSION;
}

}  // namespace rondo
