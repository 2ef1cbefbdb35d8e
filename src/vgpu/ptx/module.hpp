// Several texts linked into one module: names, functions that are decoded when they are needed,
// variables, and where shared variables lie.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/ptx/code.hpp"
#include "vgpu/ptx/engine.hpp"
#include "vgpu/ptx/syntax.hpp"

namespace vgpu::ptx {

/// What a name of the module level stands for.
struct Symbol {
    enum class Kind : std::uint8_t { none, variable, shared, dynamic_shared, function };
    Kind kind = Kind::none;
    std::uint32_t index = 0;  ///< of a variable or function
    std::size_t offset = 0;   ///< of a shared variable
};

class LoadedKernel;

class LinkedModule final : public Module {
public:
    LinkedModule(std::span<const std::string_view> texts, const Options& options);
    ~LinkedModule() override;

    std::vector<std::string> kernels() const override;
    bool has_kernel(std::string_view name) const override;
    const KernelInfo& kernel_info(std::string_view name) const override;
    const Kernel& kernel(std::string_view name) const override;
    const std::vector<VariableInfo>& variables() const override { return infos_; }
    std::shared_ptr<Image> place(int device, DeviceMemory& memory) const override;

    // ---- for the decoder and the executor
    /// As seen from a text: its own names first.
    Symbol find(std::size_t text, std::string_view name) const;
    Function& function(std::uint32_t index) const { return *functions_[index]; }
    /// By the address that programs see; null for anything else.
    Function* function_at(std::uint64_t address) const;
    /// Decodes at the first call. Throws Error or Unsupported.
    const Code& code_of(Function& function) const;
    const Variable& variable(std::uint32_t index) const { return variables_[index]; }
    std::size_t variable_count() const { return variables_.size(); }
    std::size_t variable_text(std::uint32_t index) const { return variable_texts_[index]; }
    /// End of what functions and texts declare; entries' own shared variables come behind.
    std::size_t common_shared_bytes() const { return common_shared_; }
    /// Offset of a function's own shared variable.
    std::size_t function_shared(const FunctionText& text, std::size_t variable) const;
    std::string source_file(const FunctionText& text, std::uint32_t number) const;

private:
    friend class LoadedKernel;
    void link(std::size_t text);
    void link_variable(std::size_t text, const Variable& variable);
    void link_function(std::size_t text, FunctionText& function);
    void place_common_shared();
    void decode_all() const;
    void check_callees(const Code& code, std::vector<std::string>& unsupported,
                       std::vector<const Code*>& seen) const;
    LoadedKernel& entry(std::string_view name) const;

    using Names = std::unordered_map<std::string_view, Symbol>;
    std::vector<std::string> texts_;
    std::vector<TextContents> contents_;
    std::vector<Names> local_names_;  // per text
    Names names_;
    std::vector<Variable> variables_;  // global and constant ones
    std::vector<std::size_t> variable_texts_;
    std::vector<VariableInfo> infos_;
    std::vector<std::unique_ptr<Function>> functions_;
    std::map<std::string, std::unique_ptr<LoadedKernel>, std::less<>> kernels_;
    std::map<std::pair<const FunctionText*, std::size_t>, std::size_t> function_shared_;
    std::size_t common_shared_ = 0;
    mutable std::recursive_mutex mutex_;  // decoding
};

/// Throws Error; what is not supported is listed in Code::unsupported.
std::unique_ptr<Code> decode(const LinkedModule& module, const FunctionText& text);

/// Where the parameters of an entry lie.
std::vector<Parameter> layout_of(const std::vector<Variable>& parameters);

}  // namespace vgpu::ptx
