// The interface of the PTX engine: texts go in, kernels come out, and blocks of kernels run.
//
// The engine knows no CUDA runtime. It is told of memory through DeviceMemory, of the world around
// a block through Hooks, and runs one block per call, on the caller's stack (a fiber of vgpu, which
// Hooks::yield() suspends). Typical use:
//
//   auto module = Module::load(texts);                       // once; bodies are read later
//   auto image = module->place(device, memory);              // once per device: variables
//   const Kernel& kernel = module->kernel("_Z3addPfS_i");    // decodes it; throws Unsupported
//   kernel.run_block({.grid = ..., .image = image.get(), .hooks = &hooks, ...});   // per block
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::ptx {

/// The text is wrong: syntax, an unknown name, a symbol that no text defines. Says where.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The text is PTX, but uses what the engine does not execute.
class Unsupported : public Error {
public:
    Unsupported(const std::string& text, std::vector<std::string> instructions)
        : Error(text), instructions_(std::move(instructions)) {}
    /// Each once, as written (opcode with modifiers).
    const std::vector<std::string>& instructions() const { return instructions_; }

private:
    std::vector<std::string> instructions_;
};

enum class FaultKind {
    illegal_address,      ///< cudaErrorIllegalAddress
    misaligned_address,   ///< cudaErrorMisalignedAddress
    assertion,            ///< cudaErrorAssert
    trap,                 ///< cudaErrorLaunchFailure (trap, brkpt)
    illegal_instruction,  ///< cudaErrorIllegalInstruction (a wrong function pointer, a wrong
                          ///< operand)
    stack_overflow,       ///< cudaErrorLaunchFailure: calls nest too deep for the local memory
    deadlock,             ///< no warp of the block can ever go on
    race,                 ///< found by a check
    uninitialised,        ///< found by a check
};

/// Ends a block: what the program did wrong while it ran, with kernel, line, thread and block in
/// the text. Thrown by Kernel::run_block(); the caller makes it the device's sticky error.
class Fault : public std::runtime_error {
public:
    Fault(FaultKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
    FaultKind kind() const { return kind_; }

private:
    FaultKind kind_;
};

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// Memory that a device may touch now: [begin, end).
struct MemoryRange {
    std::uintptr_t begin = 0, end = 0;
    bool writable = true;
};

/// The memory of all devices, as the engine sees it. Addresses are those of the host. Thread safe.
class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;
    /// Memory for a module's variable, zeroed, for as long as the module lives on the device.
    virtual void* allocate(int device, std::size_t bytes, std::size_t alignment,
                           std::string_view name) = 0;
    virtual void release(int device, void* memory) = 0;
    /// The allocation around `address` if the device may touch it now: it exists, and peer access
    /// is enabled where it is a peer's. False otherwise. The engine keeps answers as long as
    /// changes() stays the same.
    virtual bool resolve(int device, std::uintptr_t address, MemoryRange& range) = 0;
    /// Grows whenever an answer of resolve() may have changed (free, peer access taken away).
    virtual const std::atomic<std::uint64_t>& changes() const = 0;
    /// Why resolve() said no, or the access crosses the end, in words: "freed", "out of bounds:
    /// ...", "peer access to device 1 is not enabled".
    virtual std::string explain(int device, std::uintptr_t address, std::size_t bytes) = 0;
};

/// What a running block asks of the world around it. Called on the stack that run_block() was
/// called on. Anything it throws ends the block and passes through run_block().
class Hooks {
public:
    virtual ~Hooks() = default;
    /// Every warp of the block waits for something outside it: let other blocks run.
    virtual void yield() = 0;
    /// The block has written a strong store, an atomic or a fence: a random schedule may suspend
    /// it.
    virtual void preemption_point() {}
    /// The same clock for all devices, nanoseconds (%globaltimer).
    virtual std::uint64_t global_timer_ns() = 0;
    /// Output of printf, formatted; one call per thread and statement.
    virtual void print(std::string_view text) = 0;
};

/// A parameter of a kernel: where its bytes lie in BlockContext::parameters.
struct Parameter {
    std::size_t offset = 0, bytes = 0, alignment = 1;
};

struct KernelInfo {
    std::string name;
    std::vector<Parameter> parameters;
    std::size_t parameter_bytes = 0;      ///< of all, with gaps
    std::size_t static_shared_bytes = 0;  ///< also of the functions it calls
    std::size_t local_bytes = 0;          ///< per thread, of the kernel itself
    unsigned max_threads = 1024;          ///< from .maxntid or .reqntid
    Dim3 required_threads{0, 0, 0};       ///< .reqntid; 0 where there is none
    unsigned min_blocks = 0;              ///< .minnctapersm
    unsigned registers = 32;              ///< a guess for occupancy: what the engine needs itself
};

struct VariableInfo {
    std::string name;
    std::size_t bytes = 0, alignment = 1;
    bool constant = false;  ///< .const, otherwise .global
    bool visible = true;    ///< can be found by name from outside
    /// The first bytes; zeros follow. Addresses in it are filled in by place().
    std::vector<std::byte> initial;
    bool managed = false;  ///< .attribute(.managed)
};

class Module;

/// The variables of a module on one device. Frees them at its end; keeps the module alive.
class Image {
public:
    virtual ~Image() = default;
    /// Null when there is no such variable.
    virtual void* address(std::string_view variable) const = 0;
};

/// How accesses are checked beyond "exists and aligned", which always is.
struct Checks {
    bool shared_races = false;   ///< shared memory: races, missing barriers
    bool uninitialised = false;  ///< shared and local memory read before written
};

/// Everything about one block of one launch. Pointers must live until run_block() returns.
struct BlockContext {
    Dim3 grid, block;
    Dim3 block_index{0, 0, 0};
    int device = 0;
    std::span<const std::byte> parameters;  ///< at least KernelInfo::parameter_bytes
    std::size_t dynamic_shared_bytes = 0;
    const Image* image = nullptr;  ///< of the kernel's module on `device`
    DeviceMemory* memory = nullptr;
    Hooks* hooks = nullptr;
    std::uint64_t seed = 0;  ///< not 0: warps interleave at random, depending on this
    std::uint64_t clock_rate_khz = 1'000'000;  ///< %clock64 per millisecond of the global timer
    unsigned multiprocessor = 0, multiprocessors = 1;  ///< %smid, %nsmid
    std::uint64_t grid_id = 0;
    /// For cooperative launches: 64 zeroed bytes of global memory per launch, shared by its blocks
    /// (%envreg1 and %envreg2, which cooperative groups' grid.sync() goes through); otherwise 0.
    std::uintptr_t grid_workspace = 0;
    Checks checks;
};

/// What running a kernel cost, added up over its blocks. Every run_block() adds when it ends.
struct Counters {
    std::atomic<std::uint64_t> blocks{0}, warp_instructions{0}, thread_instructions{0};
    std::atomic<std::uint64_t> yields{0};
};

class Kernel {
public:
    virtual ~Kernel() = default;
    virtual const KernelInfo& info() const = 0;
    /// Runs the block to its end. Thread safe; blocks of one kernel run side by side. Throws Fault.
    virtual void run_block(const BlockContext& context) const = 0;
    virtual const Counters& counters() const = 0;
};

struct Options {
    /// Decode every kernel and function now, and refuse at once what is unsupported anywhere.
    /// Otherwise kernel() does, for the kernel and what it calls.
    bool eager = false;
};

/// One or several texts, linked: what one text declares .extern another defines. Immutable and
/// thread safe after load(); lives as long as anybody holds it or an Image of it. The texts are
/// copied.
class Module : public std::enable_shared_from_this<Module> {
public:
    static std::shared_ptr<Module> load(std::span<const std::string_view> texts,
                                        const Options& options = {});
    virtual ~Module() = default;

    /// All entries, without decoding them.
    virtual std::vector<std::string> kernels() const = 0;
    virtual bool has_kernel(std::string_view name) const = 0;
    /// Parameters, limits and attributes; reads the kernel's body, but refuses nothing.
    virtual const KernelInfo& kernel_info(std::string_view name) const = 0;
    /// Ready to run; decoded at the first call. Throws Error if there is none, Unsupported with the
    /// list of all its instructions (and of those of the functions that it calls) that can't run.
    virtual const Kernel& kernel(std::string_view name) const = 0;
    virtual const std::vector<VariableInfo>& variables() const = 0;
    /// Allocates and initialises the variables for a device.
    virtual std::shared_ptr<Image> place(int device, DeviceMemory& memory) const = 0;
};

}  // namespace vgpu::ptx
