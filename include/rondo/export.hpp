// What the shared library shows to those who link it.
#pragma once

#if defined(__cplusplus) && __cplusplus < 202002L && !defined(__CUDACC__)
#error "Rondo's headers need C++20: compile with -std=c++20"
#include <rondo_needs_cpp20>  // is not there, and ends the list of errors
#endif

/// The function or class is exported. Everything without it is hidden.
#define RONDO_API __attribute__((visibility("default")))
