// What a fuzzer does when a promise is broken: say which one and crash, so that the input is kept.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace rondo::fuzz {

inline void require(bool kept, const char* promise) {
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

}  // namespace rondo::fuzz
