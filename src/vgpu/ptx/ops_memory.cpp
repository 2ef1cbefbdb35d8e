// Loads, stores and conversions of addresses.
#include <algorithm>

#include "base/spin_lock.hpp"
#include "vgpu/ptx/addresses.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

/// Strong vector accesses of a warp are seen as a whole per 128 bytes: protocols that send data and
/// flag in one store rely on it. Weak accesses promise nothing of the kind.
constexpr unsigned line_shift = 7;
constexpr std::size_t line_locks = 256;
rondo::SpinLock lines[line_locks];

class LineLock {
public:
    LineLock() = default;
    ~LineLock() { release(); }
    LineLock(const LineLock&) = delete;
    LineLock& operator=(const LineLock&) = delete;
    void move_to(std::uint64_t address) {
        const std::uint64_t line = address >> line_shift;
        if (held_ && line == line_) return;
        release();
        line_ = line;
        held_ = true;
        lines[line_ % line_locks].lock();
    }

private:
    void release() {
        if (held_) lines[line_ % line_locks].unlock();
        held_ = false;
    }
    std::uint64_t line_ = 0;
    bool held_ = false;
};

template <class T>
T read_one(const T* from, bool strong) {
    return strong ? __atomic_load_n(from, __ATOMIC_ACQUIRE) : *from;
}
template <class T>
void write_one(T* to, T value, bool strong) {
    if (strong) {
        __atomic_store_n(to, value, __ATOMIC_RELEASE);
    } else {
        *to = value;
    }
}

/// Writes values of memory to a register that may be wider.
template <class T>
void to_register(Warp& warp, const Instruction& i, Slot slot, const T* values) {
    const auto write = [&]<class Register>(Register) {
        if (i.is_signed) {
            each_lane<Register>(warp, slot, [=](unsigned lane) {
                return static_cast<Register>(static_cast<std::make_signed_t<T>>(values[lane]));
            });
        } else {
            each_lane<Register>(warp, slot,
                                [=](unsigned lane) { return static_cast<Register>(values[lane]); });
        }
    };
    if (i.register_bytes == 2) return write(std::uint16_t{});
    if (i.register_bytes == 4) return write(std::uint32_t{});
    write(std::uint64_t{});
}

template <class T>
void from_register(const Warp& warp, const Instruction& i, Slot slot, T* values) {
    const auto read = [&](const auto* lanes) {
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
            values[lane] = static_cast<T>(lanes[lane]);
    };
    if (i.register_bytes == 2) return read(warp.in<std::uint16_t>(slot));
    if (i.register_bytes == 4) return read(warp.in<std::uint32_t>(slot));
    read(warp.in<std::uint64_t>(slot));
}

template <class T>
void read_elements(Warp& warp, const Instruction& i, const Addresses& addresses,
                   T (*values)[warp_lanes]) {
    const unsigned count = i.count;
    if (!i.strong && warp.exec == all_lanes && count == 1 && addresses.contiguous(sizeof(T))) {
        std::memcpy(values[0], addresses.pointer<T>(0), warp_lanes * sizeof(T));
        return;
    }
    LineLock lock;
    const bool unit = i.strong && count > 1;
    each_active(warp.exec, [&](unsigned lane) {
        if (unit) lock.move_to(addresses.at[lane]);
        const T* const from = addresses.pointer<T>(lane);
        for (unsigned n = 0; n < count; ++n) values[n][lane] = read_one(from + n, i.strong);
    });
}

template <Space space, class T>
void load(Warp& warp, const Instruction& i) {
    Addresses addresses;
    find_addresses<space>(warp, i.a, i.flag, i.value, sizeof(T) * i.count, AccessKind::read,
                          addresses);
    T values[8][warp_lanes];
    read_elements(warp, i, addresses, values);
    for (unsigned n = 0; n < i.count; ++n) {
        if (i.list[n] != no_slot) to_register(warp, i, i.list[n], values[n]);
    }
    if (i.strong) {
        const auto first = static_cast<unsigned>(std::countr_zero(warp.exec));
        warp.note_poll(warp.pc, addresses.at[first], values[0][first]);
    }
}

template <Space space, class T>
void store(Warp& warp, const Instruction& i) {
    Addresses addresses;
    find_addresses<space>(warp, i.a, i.flag, i.value, sizeof(T) * i.count, AccessKind::write,
                          addresses);
    T values[8][warp_lanes];
    const unsigned count = i.count;
    for (unsigned n = 0; n < count; ++n) from_register(warp, i, i.list[n], values[n]);
    if (!i.strong && warp.exec == all_lanes && count == 1 && addresses.contiguous(sizeof(T))) {
        std::memcpy(addresses.pointer<T>(0), values[0], warp_lanes * sizeof(T));
        return;
    }
    {
        LineLock lock;
        const bool unit = i.strong && count > 1;
        each_active(warp.exec, [&](unsigned lane) {
            if (unit) lock.move_to(addresses.at[lane]);
            T* const to = addresses.pointer<T>(lane);
            for (unsigned n = 0; n < count; ++n) write_one(to + n, values[n][lane], i.strong);
        });
    }
    if (i.strong && space != Space::shared) warp.block->context().hooks->preemption_point();
}

template <Space space>
Handler load_of(unsigned bytes) {
    switch (bytes) {
        case 1:
            return &load<space, std::uint8_t>;
        case 2:
            return &load<space, std::uint16_t>;
        case 4:
            return &load<space, std::uint32_t>;
        case 8:
            return &load<space, std::uint64_t>;
        default:
            return nullptr;
    }
}
template <Space space>
Handler store_of(unsigned bytes) {
    switch (bytes) {
        case 1:
            return &store<space, std::uint8_t>;
        case 2:
            return &store<space, std::uint16_t>;
        case 4:
            return &store<space, std::uint32_t>;
        case 8:
            return &store<space, std::uint64_t>;
        default:
            return nullptr;
    }
}

/// The same for all lanes, at a place that was checked when it was decoded.
template <class T>
void load_parameter(Warp& warp, const Instruction& i) {
    const auto base = *warp.in<std::uint64_t>(special_slot(Special::parameters));
    const T* const from = reinterpret_cast<const T*>(base + i.value);  // NOLINT
    for (unsigned n = 0; n < i.count; ++n) {
        if (i.list[n] == no_slot) continue;
        T values[warp_lanes];
        std::fill_n(values, warp_lanes, from[n]);
        to_register(warp, i, i.list[n], values);
    }
}

/// Shared and local memory lie somewhere in the host's addresses; the rest is the same already.
template <Space space, bool to_generic, class T>
void convert_address(Warp& warp, const Instruction& i) {
    const T* const a = warp.in<T>(i.a);
    if constexpr (space == Space::shared) {
        const auto base = reinterpret_cast<std::uint64_t>(warp.block->shared());
        each_lane<T>(warp, i.d, [=](unsigned lane) {
            return static_cast<T>(to_generic ? a[lane] + base : a[lane] - base);
        });
    } else if constexpr (space == Space::local) {
        each_active(warp.exec, [&](unsigned lane) {
            const auto base = reinterpret_cast<std::uint64_t>(warp.local_memory(lane));
            warp.out<T>(i.d)[lane] = static_cast<T>(to_generic ? a[lane] + base : a[lane] - base);
        });
    } else {
        each_lane<T>(warp, i.d, [=](unsigned lane) { return a[lane]; });
    }
}

template <Space space>
void is_space(Warp& warp, const Instruction& i) {
    const auto* const a = warp.in<std::uint64_t>(i.a);
    const BlockRun& block = *warp.block;
    const auto shared = reinterpret_cast<std::uint64_t>(block.shared());
    std::uint32_t result = 0;
    each_active(warp.exec, [&](unsigned lane) {
        const bool in_shared = a[lane] - shared < block.shared_bytes();
        const auto local = reinterpret_cast<std::uint64_t>(warp.local_memory(lane));
        const bool in_local = a[lane] - local < block.local_bytes();
        const std::uint64_t parameters = *warp.in<std::uint64_t>(special_slot(Special::parameters));
        const bool in_parameters = a[lane] - parameters < block.context().parameters.size();
        const bool answer = space == Space::shared   ? in_shared
                            : space == Space::local  ? in_local
                            : space == Space::param  ? in_parameters
                            : space == Space::global ? !in_shared && !in_local
                                                     : false;
        result |= static_cast<std::uint32_t>(answer) << lane;
    });
    set_predicate(warp, i.d, result);
}

void fence(Warp& warp, const Instruction&) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    warp.block->context().hooks->preemption_point();
}

void prefetch(Warp&, const Instruction&) {}

/// cp.async: [a + value] in shared memory from [b + list[1]] in global memory; c, when there, says
/// how many bytes are copied, the rest are zeros. Done at once.
template <unsigned bytes>
void copy_async(Warp& warp, const Instruction& i) {
    Addresses to, from;
    find_addresses<Space::shared>(warp, i.a, i.flag, i.value, bytes, AccessKind::write, to);
    find_addresses<Space::global>(warp, i.b, false, i.list[0], bytes, AccessKind::read, from);
    const auto* const sizes = i.c == no_slot ? nullptr : warp.in<std::uint32_t>(i.c);
    each_active(warp.exec, [&](unsigned lane) {
        const std::size_t size =
            sizes == nullptr ? bytes : std::min<std::size_t>(sizes[lane], bytes);
        std::memcpy(to.pointer<std::byte>(lane), from.pointer<std::byte>(lane), size);
        std::memset(to.pointer<std::byte>(lane) + size, 0, bytes - size);
    });
}

template <bool to_generic, class T>
Handler conversion_of(Space space) {
    switch (space) {
        case Space::shared:
            return &convert_address<Space::shared, to_generic, T>;
        case Space::local:
            return &convert_address<Space::local, to_generic, T>;
        default:
            return &convert_address<Space::global, to_generic, T>;
    }
}

}  // namespace

Handler load_operation(Space space, unsigned bytes) {
    switch (space) {
        case Space::shared:
            return load_of<Space::shared>(bytes);
        case Space::local:
            return load_of<Space::local>(bytes);
        default:
            return load_of<Space::generic>(bytes);
    }
}

Handler store_operation(Space space, unsigned bytes) {
    switch (space) {
        case Space::shared:
            return store_of<Space::shared>(bytes);
        case Space::local:
            return store_of<Space::local>(bytes);
        case Space::constant:
            return nullptr;
        default:
            return store_of<Space::generic>(bytes);
    }
}

Handler load_parameter_operation(unsigned bytes) {
    switch (bytes) {
        case 1:
            return &load_parameter<std::uint8_t>;
        case 2:
            return &load_parameter<std::uint16_t>;
        case 4:
            return &load_parameter<std::uint32_t>;
        case 8:
            return &load_parameter<std::uint64_t>;
        default:
            return nullptr;
    }
}

Handler address_conversion(Space space, bool to_generic, unsigned bytes) {
    if (bytes == 8)
        return to_generic ? conversion_of<true, std::uint64_t>(space)
                          : conversion_of<false, std::uint64_t>(space);
    return nullptr;
}

Handler is_space_operation(Space space) {
    switch (space) {
        case Space::shared:
            return &is_space<Space::shared>;
        case Space::local:
            return &is_space<Space::local>;
        case Space::param:
            return &is_space<Space::param>;
        case Space::global:
            return &is_space<Space::global>;
        default:
            return &is_space<Space::constant>;
    }
}

Handler fence_operation() {
    return &fence;
}
Handler prefetch_operation() {
    return &prefetch;
}

Handler copy_async_operation(unsigned bytes) {
    return bytes == 4    ? &copy_async<4>
           : bytes == 8  ? &copy_async<8>
           : bytes == 16 ? &copy_async<16>
                         : nullptr;
}

}  // namespace vgpu::ptx
