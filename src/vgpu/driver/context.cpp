// The table of contexts and the threads' stacks.
#include "vgpu/driver/context.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "vgpu/api.hpp"

namespace vgpu::driver {

namespace {

std::atomic<bool> init_called{false};

/// Never destroyed: programs call the driver while they end.
struct Contexts {
    std::mutex mutex;
    std::unordered_map<int, std::unique_ptr<Context>> primary;
    std::unordered_map<const void*, std::unique_ptr<Context>> made;
    unsigned long long next_id = 1;
};

Contexts& contexts() {
    static Contexts* const all = new Contexts;
    return *all;
}

std::vector<Context*>& stack() {
    thread_local std::vector<Context*> of_thread;
    return of_thread;
}

}  // namespace

bool initialised() {
    return init_called.load(std::memory_order_relaxed) || this_thread().runtime_used;
}

void set_initialised() {
    init_called = true;
}

/// cudaSetDevice replaces what the driver made current.
Context* current_context() {
    const ThreadState& thread = this_thread();
    if (!stack().empty() && (!thread.runtime_used || stack().back()->device == thread.device))
        return stack().back();
    return thread.runtime_used ? &primary_context(thread.device) : nullptr;
}

Context& context_at(CUcontext handle) {
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    for (const auto& [device, context] : all.primary)
        if (handle_of(context.get()) == handle) return *context;
    const auto found = all.made.find(handle);
    if (found == all.made.end())
        throw ApiError{cudaErrorDeviceUninitialized, "the context does not exist"};
    return *found->second;
}

Context& primary_context(int device) {
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    auto& context = all.primary[device];
    if (!context) context = std::make_unique<Context>(Context{device, true, 0, all.next_id++});
    return *context;
}

Context* make_context(int device, unsigned flags) {
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    auto context = std::make_unique<Context>(Context{device, false, flags, all.next_id++});
    Context* const handle = context.get();
    all.made.emplace(handle, std::move(context));
    return handle;
}

void destroy_context(CUcontext handle) {
    Context& context = context_at(handle);
    if (context.primary)
        throw ApiError{cudaErrorDeviceUninitialized,
                       "a primary context is released, not destroyed"};
    std::erase(stack(), &context);
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    all.made.erase(handle);
}

void push_context(Context& context) {
    stack().push_back(&context);
    this_thread().device = context.device;
}

Context* pop_context() {
    Context* const top = current_context();
    if (!stack().empty()) stack().pop_back();
    if (!stack().empty()) this_thread().device = stack().back()->device;
    return top;
}

void replace_context(Context* context) {
    if (!stack().empty()) stack().pop_back();
    if (context != nullptr) push_context(*context);
}

DeviceScope::DeviceScope(int device) : before_(std::exchange(this_thread().device, device)) {}

DeviceScope::~DeviceScope() {
    this_thread().device = before_;
}

}  // namespace vgpu::driver
