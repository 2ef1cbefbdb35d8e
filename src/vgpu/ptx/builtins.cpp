// Functions that the compiler calls and the GPU's runtime brings: printf and assertions.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "vgpu/ptx/block_run.hpp"
#include "vgpu/ptx/lanes.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

constexpr std::size_t longest_text = 4096;

/// An argument of the call, for one lane.
template <class T>
T argument(const Warp& warp, const Instruction& i, std::size_t index, unsigned lane) {
    T value{};
    if (index < i.call->arguments.size()) {
        std::memcpy(&value,
                    warp.local_memory(lane) + warp.frame->local_offset + i.call->arguments[index],
                    std::min<std::size_t>(sizeof value, i.call->argument_bytes[index]));
    }
    return value;
}

/// Device memory as text; what can't be read ends the block.
std::string text_at(Warp& warp, std::uint64_t address, unsigned lane) {
    std::string text;
    std::uint64_t addresses[warp_lanes];
    while (text.size() < longest_text) {
        std::fill_n(addresses, warp_lanes, address + text.size());
        warp.block->check(warp, addresses, 1u << lane, 1, AccessKind::read);
        const char letter = *reinterpret_cast<const char*>(address + text.size());  // NOLINT
        if (letter == '\0') break;
        text.push_back(letter);
    }
    return text;
}

/// Formats with the arguments that lie packed at `arguments`.
class Printer {
public:
    Printer(Warp& warp, unsigned lane, std::uint64_t arguments)
        : warp_(warp), lane_(lane), next_(arguments) {}

    std::string print(const std::string& format) {
        std::string result;
        for (std::size_t at = 0; at < format.size();) {
            if (format[at] != '%') {
                result.push_back(format[at++]);
            } else if (at + 1 < format.size() && format[at + 1] == '%') {
                result.push_back('%');
                at += 2;
            } else {
                at += convert(format.substr(at), result);
            }
        }
        return result;
    }

private:
    template <class T>
    T take() {
        next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        std::uint64_t addresses[warp_lanes];
        std::fill_n(addresses, warp_lanes, next_);
        warp_.block->check(warp_, addresses, 1u << lane_, sizeof(T), AccessKind::read);
        T value;
        std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof value);  // NOLINT
        next_ += sizeof(T);
        return value;
    }

    /// One conversion; returns how long its text is.
    std::size_t convert(const std::string& rest, std::string& result) {
        std::size_t length = rest.find_first_not_of("-+ #0123456789.*", 1);
        if (length == std::string::npos) {
            result += rest;
            return rest.size();
        }
        std::string flags = rest.substr(0, length);
        for (std::size_t star = flags.find('*'); star != std::string::npos; star = flags.find('*'))
            flags.replace(star, 1, std::to_string(take<std::int32_t>()));
        std::size_t longs = 0;
        while (length < rest.size() && std::strchr("lhzjt", rest[length]) != nullptr) {
            longs += rest[length] == 'l' || rest[length] == 'z' || rest[length] == 'j' ||
                     rest[length] == 't';
            ++length;
        }
        const char kind = length < rest.size() ? rest[length] : '\0';
        append(flags, kind, longs > 0, result);
        return std::min(length + 1, rest.size());
    }

    void append(const std::string& flags, char kind, bool wide, std::string& result) {
        char buffer[512];
        const auto add = [&](const std::string& format, auto value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
            std::snprintf(buffer, sizeof buffer, format.c_str(), value);
#pragma GCC diagnostic pop
            result += buffer;
        };
        switch (kind) {
            case 'd':
            case 'i':
            case 'u':
            case 'x':
            case 'X':
            case 'o':
            case 'c':
                if (wide) {
                    add(flags + "ll" + kind, take<long long>());
                } else {
                    add(flags + kind, take<int>());
                }
                return;
            case 'f':
            case 'F':
            case 'e':
            case 'E':
            case 'g':
            case 'G':
            case 'a':
            case 'A':
                return add(flags + kind, take<double>());
            case 'p':
                return add(flags + "p", reinterpret_cast<void*>(take<std::uint64_t>()));  // NOLINT
            case 's':
                return add(flags + "s", text_at(warp_, take<std::uint64_t>(), lane_).c_str());
            default:
                result += flags;
                if (kind != '\0') result.push_back(kind);
        }
    }

    Warp& warp_;
    unsigned lane_;
    std::uint64_t next_;
};

void print_formatted(Warp& warp, const Instruction& i) {
    each_active(warp.exec, [&](unsigned lane) {
        const std::string format = text_at(warp, argument<std::uint64_t>(warp, i, 0, lane), lane);
        Printer printer(warp, lane, argument<std::uint64_t>(warp, i, 1, lane));
        const std::string text = printer.print(format);
        warp.block->context().hooks->print(text);
        if (!i.call->results.empty()) {
            const auto length = static_cast<std::int32_t>(text.size());
            std::memcpy(warp.local_memory(lane) + warp.frame->local_offset + i.call->results[0],
                        &length, std::min<std::size_t>(sizeof length, i.call->result_bytes[0]));
        }
    });
}

void fail_assertion(Warp& warp, const Instruction& i) {
    const auto lane = static_cast<unsigned>(std::countr_zero(warp.exec));
    const std::string message = text_at(warp, argument<std::uint64_t>(warp, i, 0, lane), lane);
    const std::string file = text_at(warp, argument<std::uint64_t>(warp, i, 1, lane), lane);
    const auto line = argument<std::uint32_t>(warp, i, 2, lane);
    const std::string function = text_at(warp, argument<std::uint64_t>(warp, i, 3, lane), lane);
    warp.block->fail(warp, FaultKind::assertion,
                     file + ":" + std::to_string(line) + ": " + function + ": assertion `" +
                         message + "` failed",
                     lane);
}

}  // namespace

Builtin builtin_named(std::string_view name) {
    if (name == "vprintf") return &print_formatted;
    if (name == "__assertfail" || name == "__assert_fail") return &fail_assertion;
    return nullptr;
}

}  // namespace vgpu::ptx
