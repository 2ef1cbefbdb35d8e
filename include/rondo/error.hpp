// The one exception hierarchy of Rondo: everything it throws on purpose is an Error. CudaError is
// in rondo/cuda_error.hpp, so that who has no CUDA can use this.
#pragma once

#include <stdexcept>
#include <string>

#include "rondo/export.hpp"

namespace rondo {

/// Base of all errors. The text names what was asked and the offending value.
class RONDO_API Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The caller asked for something that can't be: nothing was changed, the call may be repeated with
/// better arguments.
class RONDO_API InvalidArgument : public Error {
public:
    using Error::Error;
};

/// What was asked makes sense but is not offered here (an element type with an operator, a
/// machine). Nothing was changed.
class RONDO_API Unsupported : public Error {
public:
    using Error::Error;
};

/// The ranks of one collective called different things. All of them left before anything was
/// written, but nobody knows who is right: the communicator is unusable.
class RONDO_API MismatchError : public Error {
public:
    using Error::Error;
};

/// A peer did not come before the deadline. The text names device, block and flag.
class RONDO_API TimeoutError : public Error {
public:
    using Error::Error;
};

/// The collective was ended by an abort of this or another rank.
class RONDO_API AbortedError : public Error {
public:
    using Error::Error;
};

/// True when the object that threw can be used further: no work was begun, or all of it was undone.
/// After any other error buffers may be half written and the ranks may disagree; destroy the
/// communicator.
inline bool recoverable(const Error& error) noexcept {
    return dynamic_cast<const InvalidArgument*>(&error) != nullptr ||
           dynamic_cast<const Unsupported*>(&error) != nullptr;
}

}  // namespace rondo
