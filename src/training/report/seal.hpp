// The frame of a checkpoint file around its values, for what writes them and for the fuzzer.
#pragma once

#include <string>
#include <string_view>

namespace rondo::training {

/// Magic, version, length and checksum around any bytes.
std::string seal_values(std::string_view values);

}  // namespace rondo::training
