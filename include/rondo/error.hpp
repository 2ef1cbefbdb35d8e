// The exceptions of Rondo: everything it throws on purpose is an Error. CudaError is in
// rondo/cuda_error.hpp, because this header does without CUDA.
//
//     try {
//         comm.all_reduce(rondo::ReduceOp::sum, gradients).wait();
//     } catch (const rondo::TimeoutError& error) {
//         std::puts(error.what());                 // names the rank that never joined
//     }
#pragma once

#include <stdexcept>
#include <string>

#include "rondo/export.hpp"

namespace rondo {

/// The base of all errors. what() says what was asked for and names the offending value.
class RONDO_API Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// An argument makes no sense. Nothing has happened; call again with better arguments.
class RONDO_API InvalidArgument : public Error {
public:
    using Error::Error;
};

/// The request makes sense but is not available here: a strategy for this collective, or this
/// machine. Nothing has happened.
class RONDO_API Unsupported : public Error {
public:
    using Error::Error;
};

/// The ranks of one collective made different calls. All ranks get this error, which says what
/// differs, and nothing was written. The communicator is unusable, because nobody knows which rank
/// is right.
class RONDO_API MismatchError : public Error {
public:
    using Error::Error;
};

/// A rank never joined, or stopped in the middle, and the timeout passed. All ranks get this error,
/// which names that rank. The communicator is unusable, and buffers may be half written.
class RONDO_API TimeoutError : public Error {
public:
    using Error::Error;
};

/// Somebody called Communicator::abort(), or destroyed the communicator while ranks were waiting.
class RONDO_API AbortedError : public Error {
public:
    using Error::Error;
};

/// True if the communicator that threw is still usable, because the call did nothing. After any
/// other error buffers may be half written and ranks may disagree: destroy the communicator.
inline bool recoverable(const Error& error) noexcept {
    return dynamic_cast<const InvalidArgument*>(&error) != nullptr ||
           dynamic_cast<const Unsupported*>(&error) != nullptr;
}

}  // namespace rondo
