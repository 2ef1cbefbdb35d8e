// Where operations get their memory.
#include "vgpu/operation.hpp"

#include <new>

#include "vgpu/thread_state.hpp"

namespace vgpu {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned most_spares = 0;  // AddressSanitizer shall see what is used too late
#else
constexpr unsigned most_spares = 256;
#endif

}  // namespace

SpareOperations::~SpareOperations() {
    while (void* const memory = take()) ::operator delete(memory);
}

void* SpareOperations::take() noexcept {
    Piece* const piece = first_;
    if (piece == nullptr) return nullptr;
    first_ = piece->next;
    --count_;
    return piece;
}

bool SpareOperations::keep(void* memory) noexcept {
    if (count_ >= most_spares) return false;
    first_ = new (memory) Piece{first_};
    ++count_;
    return true;
}

void* Operation::operator new(std::size_t bytes) {
    ThreadState* const thread = detail::known_thread;
    void* const spare = thread != nullptr ? thread->spare_operations.take() : nullptr;
    return spare != nullptr ? spare : ::operator new(bytes);
}

void Operation::operator delete(void* memory) noexcept {
    ThreadState* const thread = detail::known_thread;
    if (thread == nullptr || !thread->spare_operations.keep(memory)) ::operator delete(memory);
}

}  // namespace vgpu
