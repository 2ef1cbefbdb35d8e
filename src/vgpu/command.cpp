// The commands that a thread can execute by itself, and how launch arguments are kept.
#include "vgpu/command.hpp"

#include <array>
#include <cstring>

namespace vgpu {

namespace {

constexpr std::size_t argument_alignment = 16;

std::size_t aligned(std::size_t bytes) {
    return (bytes + argument_alignment - 1) / argument_alignment * argument_alignment;
}

}  // namespace

void ArgumentBuffer::assign(const KernelDescription& description, void** arguments) {
    size_ = 0;
    for (std::size_t i = 0; i < description.argument_count; ++i)
        size_ += aligned(description.argument_sizes[i]);
    if (size_ > inline_bytes) large_.resize(size_);
    std::byte* at = bytes();
    for (std::size_t i = 0; i < description.argument_count; ++i) {
        std::memcpy(at, arguments[i], description.argument_sizes[i]);
        at += aligned(description.argument_sizes[i]);
    }
}

void ArgumentBuffer::run_with_many(const KernelDescription& description) {
    constexpr std::size_t usual_count = 16;
    std::array<void*, usual_count> few;
    std::vector<void*> many;
    void** pointers = few.data();
    if (description.argument_count > usual_count) {
        many.resize(description.argument_count);
        pointers = many.data();
    }
    std::byte* at = bytes();
    for (std::size_t i = 0; i < description.argument_count; ++i) {
        pointers[i] = at;
        at += aligned(description.argument_sizes[i]);
    }
    description.run(pointers);
}

namespace {

/// A word is copied at once, so that a kernel may wait for it.
void copy_row(std::byte* destination, const std::byte* source, std::size_t bytes) {
    if (bytes == sizeof(std::uint32_t) &&
        reinterpret_cast<std::uintptr_t>(destination) % alignof(std::uint32_t) == 0) {
        std::uint32_t word = 0;
        std::memcpy(&word, source, bytes);
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(destination), word, __ATOMIC_RELEASE);
        return;
    }
    std::memmove(destination, source, bytes);
}

}  // namespace

void execute_copy(const CopyCommand& command) {
    for (std::size_t z = 0; z < command.depth; ++z) {
        for (std::size_t y = 0; y < command.height; ++y) {
            copy_row(
                command.destination + z * command.destination_slice + y * command.destination_pitch,
                command.source + z * command.source_slice + y * command.source_pitch,
                command.width);
        }
    }
}

namespace {

void fill_row(std::byte* row, const MemsetCommand& command) {
    if (command.element_bytes == 1) {
        std::memset(row, static_cast<int>(command.value), command.width);
        return;
    }
    for (std::size_t x = 0; x < command.width; ++x) {
        std::memcpy(row + x * command.element_bytes, &command.value, command.element_bytes);
    }
}

}  // namespace

void execute_memset(const MemsetCommand& command) {
    for (std::size_t z = 0; z < command.depth; ++z) {
        for (std::size_t y = 0; y < command.height; ++y) {
            fill_row(command.destination + z * command.slice + y * command.pitch, command);
        }
    }
}

}  // namespace vgpu
