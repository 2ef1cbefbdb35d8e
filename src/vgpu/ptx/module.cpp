// Links texts and decodes functions when they are needed.
#include "vgpu/ptx/module.hpp"

#include <algorithm>

#include "vgpu/ptx/kernel.hpp"
#include "vgpu/ptx/operations.hpp"

namespace vgpu::ptx {
namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

void add_once(std::vector<std::string>& names, const std::vector<std::string>& more) {
    for (const std::string& name : more) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
}

[[noreturn]] void refuse(const std::string& where, const std::vector<std::string>& instructions) {
    throw Unsupported(where + " uses what the PTX engine does not execute: " + listed(instructions),
                      instructions);
}

}  // namespace

std::vector<Parameter> layout_of(const std::vector<Variable>& parameters) {
    std::vector<Parameter> result;
    std::size_t offset = 0;
    for (const Variable& parameter : parameters) {
        const std::size_t alignment = std::max<std::size_t>(parameter.alignment, 1);
        offset = (offset + alignment - 1) / alignment * alignment;
        result.push_back({offset, parameter.bytes, alignment});
        offset += parameter.bytes;
    }
    return result;
}

std::shared_ptr<Module> Module::load(std::span<const std::string_view> texts,
                                     const Options& options) {
    return std::make_shared<LinkedModule>(texts, options);
}

LinkedModule::LinkedModule(std::span<const std::string_view> texts, const Options& options)
    : texts_(texts.begin(), texts.end()) {
    for (const std::string& text : texts_) contents_.push_back(parse_text(text));
    local_names_.resize(contents_.size());
    for (std::size_t text = 0; text < contents_.size(); ++text) link(text);
    place_common_shared();
    if (options.eager) decode_all();
}

LinkedModule::~LinkedModule() = default;

// ---- names

void LinkedModule::link(std::size_t text) {
    TextContents& contents = contents_[text];
    for (const Variable& variable : contents.variables) link_variable(text, variable);
    for (FunctionText& function : contents.functions) link_function(text, function);
    for (const auto& [name, target] : contents.aliases) {
        const Symbol symbol = find(text, target);
        if (symbol.kind == Symbol::Kind::none) throw Error("the alias '" + name + "' of nothing");
        local_names_[text][name] = symbol;
        names_.emplace(name, symbol);
    }
}

void LinkedModule::link_variable(std::size_t text, const Variable& variable) {
    Symbol symbol;
    if (variable.space == Space::shared) {
        symbol.kind = variable.is_extern && variable.bytes == 0 ? Symbol::Kind::dynamic_shared
                                                                : Symbol::Kind::shared;
        if (variable.is_extern && variable.bytes != 0) return;  // another text defines it
        if (symbol.kind == Symbol::Kind::shared) {
            if (variable.is_weak && names_.contains(variable.name)) return;
            const std::size_t alignment = std::max<std::size_t>(variable.alignment, 1);
            symbol.offset = (common_shared_ + alignment - 1) / alignment * alignment;
            common_shared_ = symbol.offset + variable.bytes;
        }
    } else {
        if (variable.is_extern) return;
        if (variable.space != Space::global && variable.space != Space::constant)
            throw Error("the variable '" + variable.name + "' is in a space that has no variables");
        if (variable.is_weak && names_.contains(variable.name)) return;
        symbol.kind = Symbol::Kind::variable;
        symbol.index = static_cast<std::uint32_t>(variables_.size());
        variables_.push_back(variable);
        variable_texts_.push_back(text);
        infos_.push_back({variable.name, variable.bytes, variable.alignment,
                          variable.space == Space::constant, variable.is_visible, variable.initial,
                          variable.managed});
    }
    local_names_[text][variable.name] = symbol;
    if (variable.is_visible || symbol.kind == Symbol::Kind::dynamic_shared)
        names_.emplace(variable.name, symbol);
}

void LinkedModule::link_function(std::size_t text, FunctionText& function) {
    function.text = text;
    if (!function.has_body) {
        const Builtin builtin = builtin_named(function.name);
        if (builtin == nullptr || names_.contains(function.name)) return;
        functions_.push_back(std::make_unique<Function>());
        functions_.back()->text = &function;
        functions_.back()->builtin = builtin;
        functions_.back()->index = static_cast<std::uint32_t>(functions_.size() - 1);
        names_[function.name] = {Symbol::Kind::function, functions_.back()->index, 0};
        return;
    }
    if (function.is_weak && (names_.contains(function.name) || kernels_.contains(function.name)))
        return;
    functions_.push_back(std::make_unique<Function>());
    Function& made = *functions_.back();
    made.text = &function;
    made.index = static_cast<std::uint32_t>(functions_.size() - 1);
    const Symbol symbol{Symbol::Kind::function, made.index, 0};
    local_names_[text][function.name] = symbol;
    names_.emplace(function.name, symbol);
    if (function.is_entry)
        kernels_.emplace(function.name, std::make_unique<LoadedKernel>(*this, made));
}

/// Shared variables of functions lie at the same place for all kernels.
void LinkedModule::place_common_shared() {
    for (const auto& function : functions_) {
        const FunctionText& text = *function->text;
        if (text.is_entry || !text.has_body ||
            text.body.find(".shared .") == std::string_view::npos)
            continue;
        const Body body = parse_body(text);
        for (std::size_t i = 0; i < body.variables.size(); ++i) {
            const Variable& variable = body.variables[i];
            if (variable.space != Space::shared || variable.is_extern) continue;
            const std::size_t alignment = std::max<std::size_t>(variable.alignment, 1);
            const std::size_t offset = (common_shared_ + alignment - 1) / alignment * alignment;
            function_shared_[{&text, i}] = offset;
            common_shared_ = offset + variable.bytes;
        }
    }
}

std::size_t LinkedModule::function_shared(const FunctionText& text, std::size_t variable) const {
    const auto found = function_shared_.find({&text, variable});
    return found == function_shared_.end() ? 0 : found->second;
}

Symbol LinkedModule::find(std::size_t text, std::string_view name) const {
    const Names& own = local_names_[text];
    if (const auto found = own.find(name); found != own.end()) return found->second;
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    return {};
}

Function* LinkedModule::function_at(std::uint64_t address) const {
    const std::uint64_t index = (address - function_tag) >> 4;
    if ((address & 15) != 0 || index == 0 || index > functions_.size()) return nullptr;
    return functions_[index - 1].get();
}

std::string LinkedModule::source_file(const FunctionText& text, std::uint32_t number) const {
    for (const auto& [own, name] : contents_[text.text].files) {
        if (own == number) return name;
    }
    return "file " + std::to_string(number);
}

// ---- code

const Code& LinkedModule::code_of(Function& function) const {
    if (const Code* const ready = function.ready.load(std::memory_order_acquire)) return *ready;
    const std::lock_guard lock(mutex_);
    if (function.code == nullptr) function.code = decode(*this, *function.text);
    if (!function.code->unsupported.empty()) {
        std::vector<std::string> once;
        add_once(once, function.code->unsupported);
        refuse("the function " + function.text->name, once);
    }
    function.ready.store(function.code.get(), std::memory_order_release);
    return *function.code;
}

/// All that is unsupported in what `code` calls, and in what those call.
void LinkedModule::check_callees(const Code& code, std::vector<std::string>& unsupported,
                                 std::vector<const Code*>& seen) const {
    if (std::find(seen.begin(), seen.end(), &code) != seen.end()) return;
    seen.push_back(&code);
    add_once(unsupported, code.unsupported);
    for (Function* const callee : code.callees) {
        if (callee->builtin != nullptr) continue;
        if (callee->code == nullptr) callee->code = decode(*this, *callee->text);
        check_callees(*callee->code, unsupported, seen);
    }
}

void LinkedModule::decode_all() const {
    std::vector<std::string> unsupported;
    std::vector<const Code*> seen;
    const std::lock_guard lock(mutex_);
    for (const auto& function : functions_) {
        if (function->builtin != nullptr) continue;
        if (function->code == nullptr) function->code = decode(*this, *function->text);
        check_callees(*function->code, unsupported, seen);
    }
    if (!unsupported.empty()) refuse("the module", unsupported);
}

// ---- kernels

std::vector<std::string> LinkedModule::kernels() const {
    std::vector<std::string> result;
    for (const auto& [name, kernel] : kernels_) result.push_back(name);
    return result;
}

bool LinkedModule::has_kernel(std::string_view name) const {
    return kernels_.find(name) != kernels_.end();
}

LoadedKernel& LinkedModule::entry(std::string_view name) const {
    const auto found = kernels_.find(name);
    if (found == kernels_.end()) throw Error("there is no kernel '" + std::string(name) + "'");
    return *found->second;
}

const KernelInfo& LinkedModule::kernel_info(std::string_view name) const {
    return entry(name).info();
}

const Kernel& LinkedModule::kernel(std::string_view name) const {
    LoadedKernel& kernel = entry(name);
    kernel.prepare();
    return kernel;
}

}  // namespace vgpu::ptx
