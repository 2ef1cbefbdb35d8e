// Copies and memsets of all kinds.
#include <fmt/format.h>

#include "vgpu/api.hpp"

using namespace vgpu;

namespace {

/// One side of a copy: whose memory it is.
struct Side {
    int device = -1;        ///< -1: host memory
    bool pageable = false;  ///< host memory that CUDA does not know
};

std::size_t extent_of(std::size_t width, std::size_t height, std::size_t depth, std::size_t pitch,
                      std::size_t slice) {
    if (width == 0 || height == 0 || depth == 0) return 0;
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

/// Looks the memory up and checks that all of it is inside one allocation.
Side side_of(Machine& machine, const void* pointer, std::size_t extent, const char* what) {
    const auto found = machine.memory().find(pointer);
    if (!found) return {.device = -1, .pageable = true};
    if (!found->contains(reinterpret_cast<std::uintptr_t>(pointer), extent)) {
        throw ApiError{cudaErrorInvalidValue,
                       fmt::format("{}: {} bytes do not fit into the allocation of {} bytes", what,
                                   extent, found->bytes)};
    }
    // Managed memory lives wherever it is used: no side is wrong for it.
    return {.device = found->is_device() ? found->device : -1, .pageable = false};
}

void check_direction(cudaMemcpyKind kind, const Side& destination, const Side& source) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    switch (kind) {
        case cudaMemcpyDefault:
            return;
        case cudaMemcpyHostToHost:
        case cudaMemcpyHostToDevice:
        case cudaMemcpyDeviceToHost:
        case cudaMemcpyDeviceToDevice:
            break;
        default:
            throw ApiError{cudaErrorInvalidMemcpyDirection,
                           fmt::format("the kind {} is unknown", static_cast<int>(kind))};
    }
    require(!(to_device && destination.pageable), "the destination is not device memory");
    require(!(from_device && source.pageable), "the source is not device memory");
    require(to_device || destination.device < 0,
            "the destination is device memory, the kind says host");
    require(from_device || source.device < 0, "the source is device memory, the kind says host");
}

enum class Blocking { no, yes };

/// Issues the copy. Waits when asked to, and when the host memory is pageable (as CUDA does).
void issue_copy(Machine& machine, CopyCommand copy, cudaMemcpyKind kind, cudaStream_t stream_handle,
                Blocking blocking) {
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) {
        std::scoped_lock lock(machine.scheduler().mutex());
        stream_at(machine, stream_handle);
        return;
    }
    require(copy.destination != nullptr && copy.source != nullptr, "dst or src is null");
    const Side destination = side_of(machine, copy.destination,
                                     extent_of(copy.width, copy.height, copy.depth,
                                               copy.destination_pitch, copy.destination_slice),
                                     "dst");
    const Side source = side_of(
        machine, copy.source,
        extent_of(copy.width, copy.height, copy.depth, copy.source_pitch, copy.source_slice),
        "src");
    check_direction(kind, destination, source);
    copy.destination_device = destination.device;
    copy.source_device = source.device;
    const bool host_involved = destination.device < 0 || source.device < 0;
    const bool wait =
        (blocking == Blocking::yes && host_involved) || destination.pageable || source.pageable;
    if (wait || blocking == Blocking::yes) note_effect(CallEffect::may_synchronise);
    OperationPtr operation;
    const Device* device = nullptr;
    {
        std::scoped_lock lock(machine.scheduler().mutex());
        if (blocking == Blocking::yes) forbid_while_capturing(machine);
        Stream& stream = stream_at(machine, stream_handle);
        device = &machine.device(stream.device);
        machine.copies.fetch_add(1, std::memory_order_relaxed);
        OperationPtr issued = issue(machine, stream, copy);
        if (wait) operation = std::move(issued);
    }
    if (operation) wait_for(machine, {&operation, 1}, *device);
}

CopyCommand plain(void* destination, const void* source, std::size_t bytes) {
    CopyCommand copy;
    copy.destination = static_cast<std::byte*>(destination);
    copy.source = static_cast<const std::byte*>(source);
    copy.width = bytes;
    return copy;
}

cudaError_t copy_1d(const char* function, const CopyCommand& copy, cudaMemcpyKind kind,
                    cudaStream_t stream, Blocking blocking) {
    return api(function, [&](Machine& machine) {
        issue_copy(machine, copy, kind, stream, blocking);
        return cudaSuccess;
    });
}

struct Pitches {
    std::size_t destination, source;
};

cudaError_t copy_2d(const char* function, CopyCommand copy, Pitches pitches, cudaMemcpyKind kind,
                    cudaStream_t stream, Blocking blocking) {
    return api(function, [&](Machine& machine) {
        if (pitches.destination < copy.width || pitches.source < copy.width) {
            throw ApiError{cudaErrorInvalidPitchValue,
                           fmt::format("a pitch ({}, {}) is smaller than the width {}",
                                       pitches.destination, pitches.source, copy.width)};
        }
        copy.destination_pitch = pitches.destination;
        copy.source_pitch = pitches.source;
        issue_copy(machine, copy, kind, stream, blocking);
        return cudaSuccess;
    });
}

void check_peer(Machine& machine, const void* pointer, int device) {
    const auto found = machine.memory().find(pointer);
    require(found && (!found->is_device() || found->device == device),
            "the memory is not on the device that was named");
}

void check_peer_copy(Machine& machine, const CopyCommand& copy, int destination, int source) {
    require_healthy(device_at(machine, destination));
    require_healthy(device_at(machine, source));
    if (copy.width == 0) return;
    check_peer(machine, copy.destination, destination);
    check_peer(machine, copy.source, source);
}

/// The blocking form comes after all pending work of both devices, and later work of their blocking
/// streams after it.
void serialise_with(Machine& machine, CopyCommand copy, int destination, int source) {
    copy.destination_device = destination;
    copy.source_device = source;
    note_effect(CallEffect::may_synchronise);
    std::scoped_lock lock(machine.scheduler().mutex());
    forbid_while_capturing(machine);
    std::vector<OperationPtr> pending = tails_of(machine.device(destination));
    for (OperationPtr& tail : tails_of(machine.device(source))) pending.push_back(std::move(tail));
    Stream& current = stream_at(machine, nullptr);
    const OperationPtr operation = issue(machine, current, copy, pending);
    machine.copies.fetch_add(1, std::memory_order_relaxed);
    for (const int device : {destination, source}) {
        Stream& legacy = machine.device(device).legacy_stream;
        if (&legacy != &current) issue(machine, legacy, MarkerCommand{}, {&operation, 1});
    }
}

cudaError_t copy_3d(const char* function, const cudaMemcpy3DParms* p, cudaStream_t stream,
                    Blocking blocking) {
    return api(function, [&](Machine& machine) {
        require(p != nullptr, "p is null");
        if (p->srcArray != nullptr || p->dstArray != nullptr)
            throw ApiError{cudaErrorNotSupported, "CUDA arrays"};
        const auto offset = [](const cudaPitchedPtr& memory, const cudaPos& at) {
            return static_cast<std::byte*>(memory.ptr) + at.z * memory.pitch * memory.ysize +
                   at.y * memory.pitch + at.x;
        };
        CopyCommand copy =
            plain(offset(p->dstPtr, p->dstPos), offset(p->srcPtr, p->srcPos), p->extent.width);
        copy.height = p->extent.height;
        copy.depth = p->extent.depth;
        copy.destination_pitch = p->dstPtr.pitch;
        copy.destination_slice = p->dstPtr.pitch * p->dstPtr.ysize;
        copy.source_pitch = p->srcPtr.pitch;
        copy.source_slice = p->srcPtr.pitch * p->srcPtr.ysize;
        issue_copy(machine, copy, p->kind, stream, blocking);
        return cudaSuccess;
    });
}

cudaError_t set(const char* function, MemsetCommand command, cudaStream_t stream_handle,
                Blocking blocking) {
    return api(function, [&](Machine& machine) {
        OperationPtr operation;
        const Device* device = nullptr;
        if (blocking == Blocking::yes) note_effect(CallEffect::may_synchronise);
        {
            std::scoped_lock lock(machine.scheduler().mutex());
            if (blocking == Blocking::yes) forbid_while_capturing(machine);
            Stream& stream = stream_at(machine, stream_handle);
            const std::size_t extent = extent_of(command.width, command.height, command.depth,
                                                 command.pitch, command.slice);
            if (extent == 0) return cudaSuccess;
            if (command.height > 1 && command.pitch < command.width) {
                throw ApiError{cudaErrorInvalidValue,
                               fmt::format("the pitch {} is smaller than the width {}",
                                           command.pitch, command.width)};
            }
            const Side side = side_of(machine, command.destination, extent, "devPtr");
            require(!side.pageable, "devPtr is not memory that CUDA knows");
            device = &machine.device(stream.device);
            OperationPtr issued = issue(machine, stream, command);
            if (blocking == Blocking::yes && side.device < 0) operation = std::move(issued);
        }
        if (operation) wait_for(machine, {&operation, 1}, *device);
        return cudaSuccess;
    });
}

MemsetCommand fill(void* destination, int value, std::size_t width, std::size_t height = 1,
                   std::size_t pitch = 0) {
    MemsetCommand command;
    command.destination = static_cast<std::byte*>(destination);
    command.value = static_cast<unsigned>(value) & 0xffu;
    command.width = width;
    command.height = height;
    command.pitch = pitch;
    return command;
}

MemsetCommand fill_3d(const cudaPitchedPtr& memory, int value, const cudaExtent& extent) {
    MemsetCommand command = fill(memory.ptr, value, extent.width, extent.height, memory.pitch);
    command.depth = extent.depth;
    command.slice = memory.pitch * memory.ysize;
    return command;
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaMemcpy(void* destination, const void* source, size_t bytes,
                                 cudaMemcpyKind kind) {
    return copy_1d("cudaMemcpy", plain(destination, source, bytes), kind, nullptr, Blocking::yes);
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_1d("cudaMemcpyAsync", plain(destination, source, bytes), kind, stream,
                   Blocking::no);
}

cudaError_t CUDARTAPI cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                                   size_t source_pitch, size_t width, size_t height,
                                   cudaMemcpyKind kind) {
    CopyCommand copy = plain(destination, source, width);
    copy.height = height;
    return copy_2d("cudaMemcpy2D", copy, {destination_pitch, source_pitch}, kind, nullptr,
                   Blocking::yes);
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync(void* destination, size_t destination_pitch,
                                        const void* source, size_t source_pitch, size_t width,
                                        size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    CopyCommand copy = plain(destination, source, width);
    copy.height = height;
    return copy_2d("cudaMemcpy2DAsync", copy, {destination_pitch, source_pitch}, kind, stream,
                   Blocking::no);
}

cudaError_t CUDARTAPI cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
    return copy_3d("cudaMemcpy3D", parameters, nullptr, Blocking::yes);
}

cudaError_t CUDARTAPI cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    return copy_3d("cudaMemcpy3DAsync", parameters, stream, Blocking::no);
}

cudaError_t CUDARTAPI cudaMemcpyPeer(void* destination, int destination_device, const void* source,
                                     int source_device, size_t bytes) {
    return api("cudaMemcpyPeer", [&](Machine& machine) {
        const CopyCommand copy = plain(destination, source, bytes);
        check_peer_copy(machine, copy, destination_device, source_device);
        if (bytes == 0) return cudaSuccess;
        side_of(machine, destination, bytes, "dst");
        side_of(machine, source, bytes, "src");
        serialise_with(machine, copy, destination_device, source_device);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* destination, int destination_device,
                                          const void* source, int source_device, size_t bytes,
                                          cudaStream_t stream) {
    return api("cudaMemcpyPeerAsync", [&](Machine& machine) {
        const CopyCommand copy = plain(destination, source, bytes);
        check_peer_copy(machine, copy, destination_device, source_device);
        issue_copy(machine, copy, cudaMemcpyDefault, stream, Blocking::no);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaMemset(void* pointer, int value, size_t bytes) {
    return set("cudaMemset", fill(pointer, value, bytes), nullptr, Blocking::yes);
}

cudaError_t CUDARTAPI cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    return set("cudaMemsetAsync", fill(pointer, value, bytes), stream, Blocking::no);
}

cudaError_t CUDARTAPI cudaMemset2D(void* pointer, size_t pitch, int value, size_t width,
                                   size_t height) {
    return set("cudaMemset2D", fill(pointer, value, width, height, pitch), nullptr, Blocking::yes);
}

cudaError_t CUDARTAPI cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width,
                                        size_t height, cudaStream_t stream) {
    return set("cudaMemset2DAsync", fill(pointer, value, width, height, pitch), stream,
               Blocking::no);
}

cudaError_t CUDARTAPI cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
    return set("cudaMemset3D", fill_3d(pointer, value, extent), nullptr, Blocking::yes);
}

cudaError_t CUDARTAPI cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent,
                                        cudaStream_t stream) {
    return set("cudaMemset3DAsync", fill_3d(pointer, value, extent), stream, Blocking::no);
}

}  // extern "C"
#pragma GCC visibility pop
