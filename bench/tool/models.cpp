// Gradients of well-known networks, as a training step reduces them.
#include "bench/tool/models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rondo/error.hpp"

namespace rondo::bench {
namespace {

/// A convolution without bias and the two vectors of the normalisation behind it.
void add_convolution(std::vector<std::uint64_t>& tensors, std::uint64_t from, std::uint64_t to,
                     std::uint64_t width) {
    tensors.push_back(from * to * width * width);
    tensors.push_back(to);
    tensors.push_back(to);
}

/// He et al. 2015: four stages of bottleneck blocks; 25,557,032 parameters.
std::vector<std::uint64_t> resnet50() {
    std::vector<std::uint64_t> tensors;
    add_convolution(tensors, 3, 64, 7);
    constexpr int blocks_of_stage[] = {3, 4, 6, 3};
    std::uint64_t width = 64, channels = 64;
    for (const int blocks : blocks_of_stage) {
        for (int block = 0; block < blocks; ++block) {
            add_convolution(tensors, channels, width, 1);
            add_convolution(tensors, width, width, 3);
            add_convolution(tensors, width, 4 * width, 1);
            if (block == 0) add_convolution(tensors, channels, 4 * width, 1);
            channels = 4 * width;
        }
        width *= 2;
    }
    tensors.push_back(2048 * 1000);
    tensors.push_back(1000);
    return tensors;
}

/// Radford et al. 2019, the small model: 12 layers of 768; 124,439,808 parameters.
std::vector<std::uint64_t> gpt2() {
    constexpr std::uint64_t width = 768;
    std::vector<std::uint64_t> tensors{50257 * width, 1024 * width};
    for (int layer = 0; layer < 12; ++layer) {
        for (const std::uint64_t count :
             {width, width, width * 3 * width, 3 * width, width * width, width, width, width,
              width * 4 * width, 4 * width, 4 * width * width, width}) {
            tensors.push_back(count);
        }
    }
    tensors.push_back(width);
    tensors.push_back(width);
    return tensors;
}

}  // namespace

std::vector<std::uint64_t> tensors_of_model(const std::string& name) {
    if (name == "resnet50") return resnet50();
    if (name == "gpt2") return gpt2();
    throw InvalidArgument(fmt::format(
        "unknown model '{}'; it must be resnet50 or gpt2, or numbers of elements", name));
}

std::vector<std::uint64_t> cut_into_tensors(std::uint64_t count) {
    constexpr std::uint64_t parts = 32, weights = parts * (parts + 1) / 2;
    std::vector<std::uint64_t> tensors;
    std::uint64_t done = 0;
    for (std::uint64_t part = 1; part <= parts; ++part) {
        const std::uint64_t end = part == parts ? count : count / weights * (part * (part + 1) / 2);
        if (end > done) tensors.push_back(end - done);
        done = std::max(done, end);
    }
    if (tensors.empty()) tensors.push_back(0);
    return tensors;
}

}  // namespace rondo::bench
