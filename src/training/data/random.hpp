// Random numbers that are the same on every machine and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace rondo::training {

/// SplitMix64: small, fast, and good enough to shuffle data and to draw weights.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    /// One that depends on all of these: for the epoch of a member of a population, and so on.
    Random(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) : state_(seed) {
        state_ = next() ^ (a * 0x9e3779b97f4a7c15u);
        state_ = next() ^ (b * 0xc2b2ae3d27d4eb4fu);
    }

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// Evenly from [0, bound); bound is not 0.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }
    /// Evenly from [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double between(double low, double high) { return low + (high - low) * unit(); }

private:
    std::uint64_t state_;
};

template <class Element>
void shuffle(std::span<Element> values, Random& random) {
    for (std::size_t i = values.size(); i > 1; --i) {
        std::swap(values[i - 1], values[random.below(i)]);
    }
}

/// 0 .. count - 1 in an order drawn from the random numbers.
inline std::vector<std::size_t> permutation(std::size_t count, Random random) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(std::span(order), random);
    return order;
}

}  // namespace rondo::training
