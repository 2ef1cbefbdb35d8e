// The control interface for tests.
#include "vgpu/control.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "vgpu/machine.hpp"
#include "vgpu/thread_state.hpp"

namespace vgpu {

namespace {

constexpr std::uint64_t most_workers = 1024;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

/// A whole number with an optional K, M or G behind it.
std::uint64_t parse_number(const char* name, const std::string& text) {
    std::size_t used = 0;
    std::uint64_t value = 0;
    try {
        if (text.at(0) == '-') throw std::invalid_argument(text);
        value = std::stoull(text, &used);
    } catch (const std::exception&) {
        throw std::invalid_argument(
            fmt::format("{} is '{}'; it must be a whole number", name, text));
    }
    const std::string suffix = text.substr(used);
    if (suffix.empty()) return value;
    if (suffix == "K") return value << 10;
    if (suffix == "M") return value << 20;
    if (suffix == "G") return value << 30;
    throw std::invalid_argument(
        fmt::format("{} is '{}'; only K, M or G may follow the number", name, text));
}

void require_workers(const char* name, std::uint64_t workers) {
    if (workers > most_workers) {
        throw std::invalid_argument(
            fmt::format("{} is {}; it must be 0 to {}", name, workers, most_workers));
    }
}

bool is_on(const char* name) {
    const std::string value = environment(name);
    if (value.empty() || value == "0") return false;
    if (value == "1") return true;
    throw std::invalid_argument(fmt::format("{} is '{}'; it must be 0 or 1", name, value));
}

Engine parse_engine(const std::string& text) {
    if (text.empty() || text == "auto") return Engine::automatic;
    if (text == "native") return Engine::native;
    if (text == "ptx") return Engine::ptx;
    throw std::invalid_argument(
        fmt::format("VGPU_ENGINE is '{}'; it must be auto, native or ptx", text));
}

/// "sm_90", "compute_90", "sm_90a" or "90".
int parse_architecture(const std::string& text) {
    std::string_view digits = text;
    for (const std::string_view prefix : {"sm_", "compute_"})
        if (digits.starts_with(prefix)) digits.remove_prefix(prefix.size());
    if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.remove_suffix(1);
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 50 || value > 130)
        throw std::invalid_argument(
            fmt::format("VGPU_ARCHITECTURE is '{}'; it must be sm_50 to sm_130", text));
    return value;
}

void require_device(int device) {
    if (device < 0 || device >= machine().device_count()) {
        throw std::invalid_argument(fmt::format("device {} does not exist; there are {}", device,
                                                machine().device_count()));
    }
}

}  // namespace

Options Options::from_environment() {
    Options options;
    if (const std::string value = environment("VGPU_TOPOLOGY"); !value.empty())
        options.topology = value;
    options.hostile = is_on("VGPU_HOSTILE");
    options.check = is_on("VGPU_CHECK");
    if (const std::string value = environment("VGPU_SEED"); !value.empty())
        options.seed = parse_number("VGPU_SEED", value);
    if (const std::string value = environment("VGPU_MEMORY"); !value.empty()) {
        options.memory_per_device = parse_number("VGPU_MEMORY", value);
    }
    if (const std::string value = environment("VGPU_WORKERS"); !value.empty()) {
        const std::uint64_t workers = parse_number("VGPU_WORKERS", value);
        require_workers("VGPU_WORKERS", workers);
        options.workers = static_cast<int>(workers);
    }
    options.engine = parse_engine(environment("VGPU_ENGINE"));
    if (const std::string value = environment("VGPU_ARCHITECTURE"); !value.empty())
        options.architecture = parse_architecture(value);
    options.print_reports = is_on("VGPU_REPORTS");
    return options;
}

void reset(const Options& options) {
    if (options.workers > 0)
        require_workers("Options::workers", static_cast<std::uint64_t>(options.workers));
    replace_machine(options);
    this_thread().last_error = cudaSuccess;
    this_thread().device = 0;
}

void reset() {
    reset(Options(options()));
}

const Options& options() {
    return machine().options();
}

void fail_call(std::string_view name, std::uint64_t kth, cudaError_t error) {
    if (kth == 0) throw std::invalid_argument("fail_call: kth is 0; the next call is 1");
    machine().faults().fail_call(name, kth, error);
}

void fail_any_call(std::uint64_t kth, cudaError_t error) {
    machine().faults().fail_any_call(kth, error);
}

void lose_device(int device) {
    require_device(device);
    Machine& all = machine();
    all.device(device).lost = true;
    all.device(device).sticky_error = cudaErrorDevicesUnavailable;
    count_memory_change();
    all.set_report(fmt::format("device {} was lost\n", device) + all.scheduler().describe());
    all.scheduler().kill_blocks(device);
}

void cut_link(int device_a, int device_b) {
    require_device(device_a);
    require_device(device_b);
    machine().faults().cut_link(device_a, device_b);
    count_memory_change();
    machine().update_instrumentation();
}

void slow_link(int device_a, int device_b, double factor) {
    require_device(device_a);
    require_device(device_b);
    if (!(factor >= 1.0))
        throw std::invalid_argument(
            fmt::format("slow_link: factor is {}; it must be at least 1", factor));
    machine().faults().slow_link(device_a, device_b, factor);
}

void delay_block(const BlockSelector& selector, std::chrono::microseconds delay) {
    machine().faults().delay_block(selector, delay);
    machine().update_instrumentation();
}

void kill_block(const BlockSelector& selector, std::uint64_t nth) {
    machine().faults().kill_block(selector, nth);
    machine().update_instrumentation();
}

void clear_faults() {
    machine().faults().clear();
    machine().update_instrumentation();
}

std::string last_report() {
    return machine().report();
}

std::string take_report() {
    return machine().take_report();
}

std::string describe_state() {
    return machine().scheduler().describe();
}

std::string last_error_detail() {
    return this_thread().error_detail;
}

Counters counters() {
    Machine& all = machine();
    Counters result;
    result.api_calls = CallCount::of_all_threads() - all.calls_before;
    result.allocations = all.allocations;
    result.frees = all.frees;
    result.copies = all.copies;
    result.blocks = all.scheduler().blocks();
    result.worker_wakeups = all.scheduler().wakeups();
    result.live_allocations = all.memory().count();
    std::scoped_lock lock(all.scheduler().mutex());
    result.launches = all.scheduler().launches();
    result.live_streams = all.streams.size();
    result.live_events = all.events.size();
    result.live_graphs = all.graphs.graphs.size() + all.graphs.executables.size();
    return result;
}

LiveMemory live_memory(int device) {
    require_device(device);
    return machine().memory().live(
        [&](const Allocation& each) { return !each.is_host() && each.device == device; });
}

LiveMemory live_host_memory() {
    return machine().memory().live([](const Allocation& each) { return each.is_host(); });
}

}  // namespace vgpu
