// Data that the samples make themselves, from a seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include <rondo/training/data.hpp>

namespace synthetic {

/// From -1 to 1, the same with every standard library.
inline float noise(std::mt19937& random) {
    return static_cast<float>(static_cast<double>(random()) / 2147483648.0 - 1.0);
}

/// Two spirals around each other; the class is the spiral.
inline rondo::training::Table two_spirals(std::size_t samples, float spread, std::uint32_t seed) {
    rondo::training::Table table(2, 1, 2);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < samples; ++i) {
        const float kind = static_cast<float>(i % 2);
        const double turn = 0.5 + 3.0 * (static_cast<double>(random()) / 4294967296.0);
        const double angle = turn * 2 + kind * std::numbers::pi;
        const float point[2] = {
            static_cast<float>(turn / 3.5 * std::cos(angle)) + spread * noise(random),
            static_cast<float>(turn / 3.5 * std::sin(angle)) + spread * noise(random)};
        table.add(point, std::span(&kind, 1));
    }
    return table;
}

/// Digits of 8 x 8 dots, as on a display of seven segments, shifted to the side by up to a dot,
/// with noise.
inline rondo::training::Table digits(std::size_t samples, float spread, std::uint32_t seed) {
    // Segments: top, upper left, upper right, middle, lower left, lower right, bottom.
    static constexpr std::uint8_t segments[10] = {0b1110111, 0b0100100, 0b1011101, 0b1101101,
                                                  0b0101110, 0b1101011, 0b1111011, 0b0100101,
                                                  0b1111111, 0b1101111};
    struct Line {
        int x, y, dx, dy;
    };
    static constexpr Line lines[7] = {{2, 1, 1, 0}, {2, 1, 0, 1}, {4, 1, 0, 1}, {2, 3, 1, 0},
                                      {2, 3, 0, 1}, {4, 3, 0, 1}, {2, 5, 1, 0}};
    rondo::training::Table table(64, 1, 10);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < samples; ++i) {
        const std::uint32_t digit = random() % 10;
        const int right = static_cast<int>(random() % 3) - 1;
        std::vector<float> dots(64);
        for (int s = 0; s < 7; ++s) {
            if ((segments[digit] >> s & 1) == 0) continue;
            for (int k = 0; k < 3; ++k) {
                const int x = lines[s].x + k * lines[s].dx + right;
                const int y = lines[s].y + k * lines[s].dy;
                dots[static_cast<std::size_t>(8 * y + x)] = 1;
            }
        }
        for (float& dot : dots) dot += spread * noise(random);
        const float kind = static_cast<float>(digit);
        table.add(dots, std::span(&kind, 1));
    }
    return table;
}

}  // namespace synthetic
