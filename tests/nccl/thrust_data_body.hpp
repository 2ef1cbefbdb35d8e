// The one implementation of thrust_data.hpp, for nvcc and for g++. Element types are told apart
// where an element is touched, not by templates around Thrust: that would take nvcc minutes.
#pragma once

#include <cmath>

#include <thrust/execution_policy.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include "tests/nccl/thrust_data.hpp"

namespace rondo::test {

/// Element i of memory that holds a type.
struct Elements {
    ElementType type;
    void* data;

    struct Store {
        void* data;
        std::uint64_t i;
        double number;
        template <class T>
        RONDO_ANYWHERE void operator()() const {
            static_cast<T*>(data)[i] = element_of<T>(number);
        }
    };
    struct Load {
        const void* data;
        std::uint64_t i;
        template <class T>
        RONDO_ANYWHERE double operator()() const {
            return number_of(static_cast<const T*>(data)[i]);
        }
    };
    RONDO_ANYWHERE void store(std::uint64_t i, double number) const {
        with_element(type, Store{data, i, number});
    }
    RONDO_ANYWHERE double load(std::uint64_t i) const { return with_element(type, Load{data, i}); }
};

struct MakeValue {
    DataRule rule;
    Elements elements;
    std::uint32_t rank;
    std::uint64_t begin;
    RONDO_ANYWHERE void operator()(std::uint64_t i) const {
        elements.store(i, rule.value(rank, begin + i));
    }
};

struct MakeResult {
    DataRule rule;
    Elements elements;
    std::uint64_t begin;
    RONDO_ANYWHERE void operator()(std::uint64_t i) const {
        elements.store(i, rule.exact.result(begin + i));
    }
};

struct Differs {
    std::uint64_t element_bytes;
    const unsigned char* a;
    const unsigned char* b;
    RONDO_ANYWHERE bool operator()(std::uint64_t i) const {
        for (std::uint64_t byte = i * element_bytes; byte < (i + 1) * element_bytes; ++byte) {
            if (a[byte] != b[byte]) return true;
        }
        return false;
    }
};

struct OutsideBound {
    DataRule rule;
    Elements a;
    Elements b;
    std::uint64_t begin;
    RONDO_ANYWHERE bool operator()(std::uint64_t i) const {
        // Not `> bound`: that would let a NaN pass.
        return !(std::fabs(a.load(i) - b.load(i)) <= rule.bound(begin + i));
    }
};

template <class Function>
void for_all(std::uint64_t count, Function function) {
    thrust::for_each_n(thrust::device, thrust::counting_iterator<std::uint64_t>(0), count,
                       function);
}

template <class Predicate>
std::uint64_t first_where(std::uint64_t count, Predicate predicate) {
    const thrust::counting_iterator<std::uint64_t> first(0);
    return *thrust::find_if(thrust::device, first, first + count, predicate);
}

const char* thrust_backend() {
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
    return "cuda";
#else
    return "cpp";
#endif
}

void make_values(const DataRule& rule, std::uint32_t rank, void* data, Range range) {
    for_all(range.count, MakeValue{rule, {rule.exact.type, data}, rank, range.begin});
}

void make_results(const DataRule& rule, void* data, Range range) {
    for_all(range.count, MakeResult{rule, {rule.exact.type, data}, range.begin});
}

std::uint64_t first_difference(ElementType type, const void* a, const void* b,
                               std::uint64_t count) {
    return first_where(count, Differs{size_of(type), static_cast<const unsigned char*>(a),
                                      static_cast<const unsigned char*>(b)});
}

std::uint64_t first_outside_bound(const DataRule& rule, const void* a, const void* b, Range range) {
    const auto elements = [&](const void* data) {
        return Elements{rule.exact.type, const_cast<void*>(data)};
    };
    return first_where(range.count, OutsideBound{rule, elements(a), elements(b), range.begin});
}

}  // namespace rondo::test
