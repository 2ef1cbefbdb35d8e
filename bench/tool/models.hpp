// Gradients of well-known networks, as a training step reduces them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::bench {

/// Elements of every tensor: of "resnet50" (161 tensors, 25.6 M elements) or "gpt2" (148 tensors,
/// 124 M). Throws InvalidArgument for other names.
std::vector<std::uint64_t> tensors_of_model(const std::string& name);

/// `count` elements in 32 tensors, whose lengths differ.
std::vector<std::uint64_t> cut_into_tensors(std::uint64_t count);

}  // namespace rondo::bench
