// Contexts of the driver API. A context is a device that a thread works on; primary contexts are
// what the runtime API works with.
#pragma once

#include <cuda.h>

namespace vgpu::driver {

/// The handle is its address.
struct Context {
    int device = 0;
    bool primary = false;
    unsigned flags = 0;
    unsigned long long id = 0;
    int retained = 0;  ///< of a primary context
};

/// Whether cuInit was called, or the runtime API was used, which does it too.
bool initialised();
void set_initialised();

/// Null when the thread has none.
Context* current_context();
/// Throws ApiError when the handle is no context.
Context& context_at(CUcontext handle);
Context& primary_context(int device);
Context* make_context(int device, unsigned flags);
void destroy_context(CUcontext handle);
inline CUcontext handle_of(Context* context) {
    return reinterpret_cast<CUcontext>(context);
}

/// The thread's stack of contexts.
void push_context(Context& context);
Context* pop_context();
/// Null takes the current one away.
void replace_context(Context* context);

/// Switches the thread to the context's device for a while.
class DeviceScope {
public:
    explicit DeviceScope(int device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int before_;
};

}  // namespace vgpu::driver
