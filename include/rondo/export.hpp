// What the shared library shows to those who link it.
#pragma once

/// The function or class is exported. Everything without it is hidden.
#define RONDO_API __attribute__((visibility("default")))
